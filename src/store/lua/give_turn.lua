-- Purpose: a run that has ended gives its turn, or leaves its place in line.
-- KEYS: 1 clock 2 owners 3 line 4 gone 5 heard
-- ARGV: 1 run 2 limit 3 the newest number under which it can have asked ('': whatever it has asked under)
-- Answers: now runs (who may ask now, in order)
-- Invariant: whoever has given, and asks late, is told so; sent again it changes nothing, and nothing where the run has asked under
-- a newer number since: it was brought back.
local clock, owners, line, gone, heard = unpack(KEYS)
local run, limit, asked = unpack(ARGV)
local now = time(clock)

local newest = call('ZSCORE', heard, run)
if asked == '' or not newest or tonumber(asked) >= tonumber(newest) then
  call('ZREM', owners, run)
  call('ZREM', line, run)
  local forgotten = now - turnForgottenMs
  for _, other in ipairs(call('ZRANGEBYSCORE', gone, '-inf', forgotten)) do call('ZREM', heard, other) end
  call('ZREMRANGEBYSCORE', gone, '-inf', forgotten)
  call('ZADD', gone, 'NX', now, run)
  hear(heard, gone, run, asked, now)
end
local free = math.min(limit - call('ZCARD', owners), maxTurnsShown)
return { now, free > 0 and call('ZRANGE', line, 0, free - 1) or {} }
