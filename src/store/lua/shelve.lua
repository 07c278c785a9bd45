-- Purpose: a run of a paused saga is given back, and is due to nobody until it is taken off the saga's shelf.
-- KEYS: 1 run 2 due 3 clock 4 queued 5 held 6 shelf 7 shelves
-- ARGV: 1 member 2 fence 3 token 4 saga
-- Answers: OK now | FENCED now
-- Invariant: nothing of the run is changed but its lease; permits that run out meanwhile are seen when it is driven again.
local run, due, clock, queued, held, shelf, shelves = unpack(KEYS)
local member, fence, token, saga = unpack(ARGV)
local now = time(clock)

local f = call('HMGET', run, 'f', 't', 'k', 'p')
if f[1] ~= fence or f[2] ~= token then return { 'FENCED', now } end

take_up(run, queued, member, f[3], f[4])
call('HDEL', run, 'o', 't', 'u', 'm', 'e')
call('SREM', held, member)
call('ZREM', due, member)
call('ZADD', shelf, 'NX', now, member)
call('SADD', shelves, saga)
return { 'OK', now }
