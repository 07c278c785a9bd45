-- Purpose: a plan or a batch as it lies there.
-- KEYS: 1 clock 2 plan
-- ARGV: none
-- Answers: OK now fields (name, value, name, value ...) | ABSENT now
-- Invariant: nothing is written but the clock.
local clock, plan = unpack(KEYS)
local now = time(clock)
if not plan_at(plan, now) then return { 'ABSENT', now } end
return { 'OK', now, call('HGETALL', plan) }
