-- Purpose: a schedule is written, or removed, if it is still the one that whoever writes it looked at.
-- KEYS: 1 clock 2 schedules (id -> "revision definition and state") 3 audit
-- ARGV: 1 id 2 expected revision ('': none is there) 3 revision and text ('': remove) 4 act ('': nobody's)
-- Answers: OK now | STALE now | FULL now
-- Invariant: of two who decide on the same revision one writes, the other looks again.
local clock, schedules, audit = unpack(KEYS)
local id, expects, text, act = unpack(ARGV)
local now = time(clock)

local known = call('HGET', schedules, id)
if (known and known:match('^%d+') or '') ~= expects then return { 'STALE', now } end
if not known and text ~= '' and call('HLEN', schedules) >= maxSchedules then return { 'FULL', now } end

if text == '' then call('HDEL', schedules, id) else call('HSET', schedules, id, text) end
remember(audit, now, act)
return { 'OK', now }
