-- Purpose: a batch is suspended, or resumed.
-- KEYS: 1 clock 2 plan 3 audit
-- ARGV: 1 who suspends it and why ('': it is resumed) 2 act
-- Answers: OK now how it stood how it stands ('': it is not suspended) | ABSENT now
-- Invariant: of two who suspend it the first counts; a word that changes nothing is nobody's act.
local clock, plan, audit = unpack(KEYS)
local says, act = unpack(ARGV)
local now = time(clock)

local kept = plan_at(plan, now)
if not kept then return { 'ABSENT', now } end
local was = kept.suspended
if (was == '') == (says == '') then return { 'OK', now, was, was } end

local stands = says == '' and '' or string.format('%.0f', now) .. ' ' .. says
if stands == '' then call('HDEL', plan, 's') else call('HSET', plan, 's', stands) end
remember(audit, now, act)
return { 'OK', now, was, stands }
