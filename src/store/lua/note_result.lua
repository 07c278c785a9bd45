-- Purpose: what came of one item of a batch.
-- KEYS: 1 clock 2 plan
-- ARGV: 1 item 2 result
-- Answers: OK now | KNOWN now | ABSENT now
-- Invariant: the first word on an item stands.
local clock, plan = unpack(KEYS)
local item, result = unpack(ARGV)
local now = time(clock)

if not plan_at(plan, now) then return { 'ABSENT', now } end
if call('HSETNX', plan, 'r' .. item, result) == 0 then return { 'KNOWN', now } end
return { 'OK', now }
