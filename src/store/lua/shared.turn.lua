-- Shared: places in a line of turns. Comes after due.lua.
-- Invariant: in order of start, and in one ms in order of asking (the first thousand; then by name).
local places_a_ms = 1000

local function place_in(line, started)
  local first = tonumber(started) * places_a_ms
  local last = call('ZREVRANGEBYSCORE', line, first + places_a_ms - 1, first, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  return string.format('%.0f', last and math.min(tonumber(last) + 1, first + places_a_ms - 1) or first)
end
