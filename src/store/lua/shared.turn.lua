-- Shared: places in a line of turns, and what is remembered of its runs. Comes after due.lua.
-- Invariant: in order of start, and in one ms in order of asking (the first thousand; then by name). A number is remembered as long
-- as its run is in line, has a turn, or is gone, but no longer than an hour after the last request: none is held up longer.
local places_a_ms = 1000

local function place_in(line, started)
  local first = tonumber(started) * places_a_ms
  local last = call('ZREVRANGEBYSCORE', line, first + places_a_ms - 1, first, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  return string.format('%.0f', last and math.min(tonumber(last) + 1, first + places_a_ms - 1) or first)
end

-- The run has asked under this number ('': it is not known).
local function hear(heard, gone, run, asked, now)
  if asked ~= '' then call('ZADD', heard, 'GT', asked, run) end
  for _, key in ipairs({ heard, gone }) do call('PEXPIREAT', key, now + turnForgottenMs) end
end
