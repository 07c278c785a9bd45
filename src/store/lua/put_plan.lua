-- Purpose: a plan or a batch is kept until it expires.
-- KEYS: 1 clock 2 plan
-- ARGV: 1 body 2 expires at
-- Answers: OK now | EXISTS now
-- Invariant: what is there and has not expired stands as it is.
local clock, plan = unpack(KEYS)
local body, expires = unpack(ARGV)
local now = time(clock)

if plan_at(plan, now) then return { 'EXISTS', now } end

call('DEL', plan)
call('HSET', plan, 'p', body, 'e', expires)
call('PEXPIREAT', plan, expires)
return { 'OK', now }
