-- Shared: entries of the inbox (slot -> "position time\ncommand id\nsender\nbody") and permits of remote calls
-- (seq -> "send+side until sentAt deadline abort\ntoken\nowner"). Comes after due.lua.
-- Invariant: a slot that was ever written stays taken; what is newer than was looked at is never lost.

-- Entries above `seen`: slot, entry, slot, entry ... `position`: the run hash's n.
local function newer(inbox, position, seen)
  local found = {}
  if tonumber(position or 0) <= seen then return found end
  local all = call('HGETALL', inbox)
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]:match('^%d+')) > seen then
      found[#found + 1] = all[i]
      found[#found + 1] = all[i + 1]
    end
  end
  return found
end

-- The entries go, all but their bodies stays as slots taken. Answers how many slots are taken.
local function consume(inbox, slots, consumed)
  if #consumed == 0 then return 0 end
  for _, slot in ipairs(consumed) do
    local entry = call('HGET', inbox, slot)
    if entry then
      call('HSET', slots, slot, entry:match('^[^\n]*\n[^\n]*\n[^\n]*'))
      call('HDEL', inbox, slot)
    end
  end
  return call('HLEN', slots)
end

-- Those of the calls (seq, send, seq, send ...) that have a permit: seq, permit, seq, permit ...
local function permits_of(permits, calls)
  local found = {}
  for i = 1, #calls, 2 do
    local permit = call('HGET', permits, calls[i])
    if permit and permit:match('^%d+') == calls[i + 1] then
      found[#found + 1] = calls[i]
      found[#found + 1] = permit
    end
  end
  return found
end

local function abort(permits, seq)
  local permit = call('HGET', permits, seq)
  if permit then call('HSET', permits, seq, (permit:gsub('^(%S+ %S+ %S+ %S+) 0', '%1 1'))) end
end
