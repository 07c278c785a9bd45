-- Purpose: a run that its holder cannot read is given back for a while, and listed for people.
-- KEYS: 1 run 2 due 3 clock 4 queued 5 permits 6 held 7 unreadable
-- ARGV: 1 member 2 fence 3 token 4 due 5 why
-- Answers: OK now | FENCED now
-- Invariant: nothing of the run is changed but its lease; whoever can read it takes it off the list (acquire).
local run, due, clock, queued, permits, held, unreadable = unpack(KEYS)
local member, fence, token, wanted, why = unpack(ARGV)
local now = time(clock)

local f = call('HMGET', run, 'f', 't')
if f[1] ~= fence or f[2] ~= token then return { 'FENCED', now } end
call('HSET', run, 'z', why)
call('ZADD', unreadable, now, member)
rest(run, due, queued, held, permits, member, wanted)
return { 'OK', now }
