-- Purpose: whether a batch is suspended, asked right before each of its items.
-- KEYS: 1 clock 2 plan
-- ARGV: none
-- Answers: OK now suspension ('': it is not suspended) | ABSENT now
-- Invariant: nothing is written but the clock.
local clock, plan = unpack(KEYS)
local now = time(clock)

local kept = plan_at(plan, now)
if not kept then return { 'ABSENT', now } end
return { 'OK', now, kept.suspended }
