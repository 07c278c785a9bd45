-- Purpose: a run that has ended is gone, with everything that is kept of it, at once.
-- KEYS: 1 run 2 due 3 expiring 4 gone, then record, ledger, log, inbox, slots, permits, then the listings it is in
-- ARGV: 1 member 2 id 3 revision 4 when its id is free again ('': at once)
-- Answers: OK | BUSY it has moved, is held, or wants something | ABSENT
-- Invariant: nothing but an ended run at rest, as it was looked at, is deleted.
local call = redis.call
local run, due, expiring, gone = unpack(KEYS)
local member, id, revision, free = unpack(ARGV)

local f = call('HMGET', run, 'v', 's', 't')
if not f[1] then
  call('ZREM', expiring, member)
  return 'ABSENT'
end
if f[1] ~= revision or not f[2]:find('[cfx]') or f[3] or call('ZSCORE', due, member) then return 'BUSY' end

for i = 11, #KEYS do call('ZREM', KEYS[i], KEYS[i]:find('}:by:', 1, true) and id or member) end
call('ZREM', expiring, member)
call('DEL', run, unpack(KEYS, 5, 10))
if free ~= '' then call('ZADD', gone, free, member) end
return 'OK'
