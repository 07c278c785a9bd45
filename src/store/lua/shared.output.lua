-- Shared: what a record says twice is stored once. Comes after due.lua.

-- Outputs of an ended run (name, value, name, value ...; JSON) that the ledger holds already become references:
-- [["name",seq],["other",0,value]]. A row's output stands last in its text, so equal text is the same output.
local function referred(ledger, outputs)
  local rows = call('LRANGE', ledger, 0, -1)
  local parts = {}
  for i = 1, #outputs, 2 do
    local tail = ',"o":' .. outputs[i + 1] .. '}'
    local seq
    for n, row in ipairs(rows) do
      if row:sub(-#tail) == tail then seq = n end
    end
    parts[#parts + 1] = '[' .. outputs[i] .. ',' .. (seq or '0,' .. outputs[i + 1]) .. ']'
  end
  return '[' .. table.concat(parts, ',') .. ']'
end

-- The first log entry under a fence names its owner; the others of that fence leave it out.
local function with_owner(entry, is_first, owner)
  return is_first and '{"o":' .. owner .. ',' .. entry:sub(2) or entry
end
