-- Purpose: whoever tells a hook what it wants to hear takes what is owed to it in this shard, and nobody else does meanwhile.
-- KEYS: 1 clock 2 box 3 runs 4 turns 5 tried 6 taker 7 hooks (hook -> how many were lost)
-- ARGV: 1 hook 2 owner 3 leaseMs (0: it takes none any more) 4 limit 5 most that are kept
-- Answers: OK now lost, then run, its first text, when it may be told again and what came of it before ('': not tried): `limit` that were not
--          tried, owed the longest first, and `limit` that were, those that may be told again first | HELD
-- Invariant: nothing that is owed goes but what is over the most, of the run that it is owed to the longest, and that is counted.
local clock, box, runs, turns, tried, taker, hooks = unpack(KEYS)
local hook, owner, lease, limit, most = unpack(ARGV)
local now = time(clock)

local holder = call('GET', taker)
if holder and holder ~= owner then return { 'HELD' } end
if lease == '0' then
  call('DEL', taker)
  return { 'OK', now, 0, {} }
end
call('SET', taker, owner, 'PX', lease)
call('HSETNX', hooks, hook, 0)
local lost = math.min(math.max(0, call('ZCARD', box) - most), maxNoticesLost)
for _ = 1, lost do
  local run = call('ZRANGE', runs, 0, 0)[1]
  strike(box, runs, turns, tried, run, (first_of(box, run)))
end
if lost > 0 then call('HINCRBY', hooks, hook, lost) end
local taken = {}
local function add(run, again, before)
  local _, text = first_of(box, run)
  for _, word in ipairs({ run, text, again, before }) do taken[#taken + 1] = word end
end
for _, run in ipairs(call('ZRANGEBYSCORE', turns, '-inf', '(0', 'LIMIT', 0, limit)) do add(run, '', '') end
local late = call('ZRANGEBYSCORE', turns, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
for i = 1, #late, 2 do add(late[i], late[i + 1], call('HGET', tried, late[i])) end
return { 'OK', now, lost, taken }
