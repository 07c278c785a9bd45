-- Purpose: one worker gets the right to advance a run for a while, and everything it needs to know of it.
-- KEYS: 1 run 2 due 3 clock 4 queued 5 ledger 6 inbox 7 permits 8 held 9 owners 10 suspects 11 record 12 unreadable
-- ARGV: 1 member 2 owner 3 token 4 leaseMs 5 also one that has ended (1) or not (0)
-- Answers: OK now fence record revision status pool priority taken-from suspect rows inbox permits
--          | HELD now until | ENDED now | ABSENT now
-- Invariant: the fence and the wake number grow with each new holder; the same token again is answered the same.
local run, due, clock, queued, ledger, inbox, permits, held, owners, suspects, rec, unreadable = unpack(KEYS)
local member, owner, token = unpack(ARGV)
local now = time(clock)
local expires = now + ARGV[4]

local f = call('HMGET', run, 'v', 's', 't', 'u', 'o', 'm', 'd', 'k', 'p', 'z')
local revision, status, holder = f[1], f[2], f[3]
if not revision then return { 'ABSENT', now } end
if holder and holder ~= token and tonumber(f[4]) > now then return { 'HELD', now, f[4] } end
local reopened = ARGV[5] == '1' or not status:find('[cfx]')
for _, slot in ipairs(reopened and {} or call('HKEYS', inbox)) do
  reopened = reopened or slot == 'undo' or slot:find('^undo:') or slot:find('^late:')
end
if not reopened then
  take_up(run, queued, member, f[8], f[9])
  call('ZREM', due, member)
  return { 'ENDED', now }
end

-- Whoever takes it looks again whether it can be read.
if f[10] then
  call('HDEL', run, 'z')
  call('ZREM', unreadable, member)
end
if holder == token then
  call('HSET', run, 'u', expires)
  mend(run, due, queued, held, member, f[6], f[8], f[9], expires)
else
  if holder then
    -- Its owner died if `expire` said so or it is registered no more; while it drove a suspect, only the suspect counts.
    local driven = call('HGET', suspects, f[5])
    local gone = call('HEXISTS', owners, f[5]) == 0 and (not driven or driven == member)
    local died = f[6] == 'died' or not f[6] and gone
    if died then call('HSET', run, 'x', 1) end
    call('HSET', run, 'd', ((died or f[7] and f[7]:sub(1, 1) == '1') and '1' or '0') .. f[5])
  end
  call('HINCRBY', run, 'f', 1)
  call('HINCRBY', run, 'w', 1)
  call('HSET', run, 'o', owner, 't', token, 'u', expires, 'b', 1)
  call('HDEL', run, 'm', 'e')
  call('SADD', held, member)
  take_up(run, queued, member, f[8], f[9])
  call('ZADD', due, expires, member)
end
local a = call('HMGET', run, 'f', 'q', 'd', 'x')
return { 'OK', now, a[1], call('GET', rec), revision, status, f[9], a[2], a[3], a[4],
  call('LRANGE', ledger, 0, -1), call('HGETALL', inbox), call('HGETALL', permits) }
