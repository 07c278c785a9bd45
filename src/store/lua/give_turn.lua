-- Purpose: a run that has ended gives its turn, or leaves its place in line.
-- KEYS: 1 clock 2 owners 3 line 4 gone
-- ARGV: 1 run 2 limit
-- Answers: now runs (who may ask now, in order)
-- Invariant: whoever has given, and asks late, is told so; sent again it changes nothing.
local clock, owners, line, gone = unpack(KEYS)
local run, limit = unpack(ARGV)
local now = time(clock)

call('ZREM', owners, run)
call('ZREM', line, run)
call('ZREMRANGEBYSCORE', gone, '-inf', now - turnForgottenMs)
call('ZADD', gone, 'NX', now, run)
call('PEXPIREAT', gone, now + turnForgottenMs)
local free = math.min(limit - call('ZCARD', owners), maxTurnsShown)
return { now, free > 0 and call('ZRANGE', line, 0, free - 1) or {} }
