-- Purpose: a run asks for its turn among those of its key, and stands in line until it has one.
-- KEYS: 1 clock 2 owners (run -> since) 3 line (run -> place) 4 gone (run -> when it had given) 5 heard (run -> newest number)
-- ARGV: 1 run 2 started at 3 limit 4 number under which it asks
-- Answers: MINE now | GONE now | WAIT now ahead runs (the first owners, then the first of those ahead) and their numbers
-- Invariant: at most as many owners as whoever asks was told; whoever is first in line is served first. Whoever has given is gone,
-- unless it asks under a newer number.
local clock, owners, line, gone, heard = unpack(KEYS)
local run, started, limit, asked = unpack(ARGV)
local now = time(clock)

local left = call('ZSCORE', gone, run)
local newest = call('ZSCORE', heard, run)
local is_back = newest and tonumber(asked) > tonumber(newest)
if left and tonumber(left) > now - turnForgottenMs and not is_back then return { 'GONE', now } end

call('ZREM', gone, run)
hear(heard, gone, run, asked, now)
if call('ZSCORE', owners, run) then return { 'MINE', now } end
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
return { 'WAIT', now, ahead, before, call('ZMSCORE', heard, unpack(before)) }
