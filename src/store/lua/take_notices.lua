-- Purpose: whoever tells a hook what it wants to hear takes what is owed to it in this shard, and nobody else does meanwhile.
-- KEYS: 1 box 2 taker 3 hooks (hook -> how many were lost)
-- ARGV: 1 hook 2 owner 3 leaseMs (0: it takes none any more) 4 limit 5 most that are kept
-- Answers: OK lost texts, the oldest first | HELD
-- Invariant: nothing that is owed goes but what is over the most, the oldest first, and that is counted.
local box, taker, hooks = unpack(KEYS)
local hook, owner, lease, limit, most = unpack(ARGV)
local call = redis.call

local holder = call('GET', taker)
if holder and holder ~= owner then return { 'HELD' } end
if lease == '0' then
  call('DEL', taker)
  return { 'OK', 0, {} }
end
call('SET', taker, owner, 'PX', lease)
call('HSETNX', hooks, hook, 0)
local lost = math.max(0, call('ZCARD', box) - most)
if lost > 0 then
  call('ZREMRANGEBYRANK', box, 0, lost - 1)
  call('HINCRBY', hooks, hook, lost)
end
return { 'OK', lost, call('ZRANGE', box, 0, limit - 1) }
