-- Purpose: a worker is asked to leave.
-- KEYS: 1 clock 2 heartbeat 3 its drain
-- ARGV: 1 who asks and why
-- Answers: OK drain now | ABSENT '' now
-- Invariant: only who is heard of can be asked; of two who ask, the first counts.
local clock, heartbeat, drain = unpack(KEYS)
local asks = ARGV[1]
local now = time(clock)

if call('EXISTS', heartbeat) == 0 then return { 'ABSENT', '', now } end

call('SET', drain, string.format('%.0f', now) .. ' ' .. asks, 'NX', 'PX', heartbeatKeptMs)
return { 'OK', call('GET', drain), now }
