-- Purpose: the lease is given back without a commit (shutdown, hand-back).
-- KEYS: 1 run 2 due 3 clock 4 queued 5 inbox 6 permits 7 held
-- ARGV: 1 member 2 fence 3 token 4 seen 5 due ('': not by itself)
-- Answers: OK now [wake-up] | FENCED now | INBOX now
-- Invariant: an entry newer than was looked at keeps the run from resting.
local run, due, clock, queued, inbox, permits, held = unpack(KEYS)
local member, fence, token, seen, wanted = unpack(ARGV)
local now = time(clock)

local f = call('HMGET', run, 'f', 't', 'n')
if f[1] ~= fence or f[2] ~= token then return { 'FENCED', now } end
if #newer(inbox, f[3], tonumber(seen)) > 0 then return { 'INBOX', now } end

rest(run, due, queued, held, permits, member, wanted)
if wanted == '' or tonumber(wanted) > now then return { 'OK', now } end
return { 'OK', now, hand_out(run, due, queued, member, now) }
