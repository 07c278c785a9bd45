-- Purpose: a remote call goes on, or hears that it is to stop.
-- KEYS: 1 clock 2 permits
-- ARGV: 1 seq 2 send and side 3 token 4 leaseMs
-- Answers: OK now | ABORT now
-- Invariant: `due` is not touched: the sweep that finds the old time reads the permit first.
local clock, permits = unpack(KEYS)
local seq, call_of, token, lease = unpack(ARGV)
local now = time(clock)

local known = call('HGET', permits, seq) or ''
local given, times, aborted, holder, owner = known:match('^(%S+) %d+ (%d+ %d+) (%d)\n([^\n]*)\n(.*)$')
if given ~= call_of or holder ~= token or aborted == '1' then return { 'ABORT', now } end

call('HSET', permits, seq, call_of .. ' ' .. now + lease .. ' ' .. times .. ' 0\n' .. token .. '\n' .. owner)
return { 'OK', now }
