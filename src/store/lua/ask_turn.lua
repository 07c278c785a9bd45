-- Purpose: a run asks for its turn among those of its key, and stands in line until it has one.
-- KEYS: 1 clock 2 owners (run -> since) 3 line (run -> place) 4 gone (run -> when it had given)
-- ARGV: 1 run 2 started at 3 limit
-- Answers: MINE now | GONE now | WAIT now ahead runs (the first owners, then the first of those ahead)
-- Invariant: at most as many owners as whoever asks was told; whoever is first in line is served first.
local clock, owners, line, gone = unpack(KEYS)
local run, started, limit = unpack(ARGV)
local now = time(clock)

if call('ZSCORE', owners, run) then return { 'MINE', now } end
local left = call('ZSCORE', gone, run)
if left and tonumber(left) > now - turnForgottenMs then return { 'GONE', now } end

if not call('ZSCORE', line, run) then call('ZADD', line, place_in(line, started), run) end
local ahead = call('ZRANK', line, run)
if ahead < limit - call('ZCARD', owners) then
  call('ZREM', line, run)
  call('ZADD', owners, now, run)
  return { 'MINE', now }
end
local before = call('ZRANGE', owners, 0, maxTurnsShown - 1)
local first = ahead > 0 and call('ZRANGE', line, 0, math.min(ahead, maxTurnsShown) - 1) or {}
for _, other in ipairs(first) do before[#before + 1] = other end
return { 'WAIT', now, ahead, before }
