-- Purpose: a worker is asked to leave.
-- KEYS: 1 clock 2 heartbeat 3 its drain 4 audit
-- ARGV: 1 who asks and why 2 act
-- Answers: OK drain now | ABSENT '' now
-- Invariant: only who is heard of can be asked; of two who ask, the first counts.
local clock, heartbeat, drain, audit = unpack(KEYS)
local asks, act = unpack(ARGV)
local now = time(clock)

if call('EXISTS', heartbeat) == 0 then return { 'ABSENT', '', now } end

local isFirst = call('SET', drain, string.format('%.0f', now) .. ' ' .. asks, 'NX', 'PX', heartbeatKeptMs)
if isFirst then remember(audit, now, act) end
return { 'OK', call('GET', drain), now }
