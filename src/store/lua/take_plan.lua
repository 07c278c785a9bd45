-- Purpose: somebody executes a plan.
-- KEYS: 1 clock 2 plan 3 audit
-- ARGV: 1 by 2 command id 3 act ('': nobody's)
-- Answers: OK now | DUP now | TAKEN now by command id | ABSENT now
-- Invariant: one command takes it, and is answered so again and again.
local clock, plan, audit = unpack(KEYS)
local by, command, act = unpack(ARGV)
local now = time(clock)

local kept = plan_at(plan, now)
if not kept then return { 'ABSENT', now } end
if kept.command == command then return { 'DUP', now } end
if kept.command then return { 'TAKEN', now, kept.by, kept.command } end

call('HSET', plan, 'b', by, 'c', command)
remember(audit, now, act)
return { 'OK', now }
