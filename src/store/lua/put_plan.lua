-- Purpose: a plan or a batch is kept until it expires.
-- KEYS: 1 clock 2 plan 3 batches
-- ARGV: 1 body 2 expires at 3 id of a batch ('': it is the plan of one run)
-- Answers: OK now | EXISTS now
-- Invariant: what is there and has not expired stands as it is.
local clock, plan, batches = unpack(KEYS)
local body, expires, batch = unpack(ARGV)
local now = time(clock)

if plan_at(plan, now) then return { 'EXISTS', now } end

call('DEL', plan)
call('HSET', plan, 'p', body, 'e', expires)
call('PEXPIREAT', plan, expires)
if batch ~= '' then
  call('ZREMRANGEBYSCORE', batches, '-inf', now)
  call('ZADD', batches, expires, batch)
end
return { 'OK', now }
