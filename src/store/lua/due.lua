-- Purpose: runs of one shard that are overdue, as far as the queue has room for them: then starts that waited for their
--          tenant's share and due runs that waited for their pool's, one tenant after the other. The run:, permit:, due: and
--          late:<share> keys it touches are found in the shard, not named by the caller.
-- KEYS: 1 due 2 clock 3 queued 4 fair 5 fair-late
-- ARGV: 1 prefix of the shard's keys 2 limit
-- Answers: now, full (0 or 1), crowded (0 or 1: some wait for room), wake-ups
-- Invariant: each is given a grace before it is answered again; a held run and a renewed permit are left alone; what
--            nobody takes up, and what a dead worker held, never waits for room.
local due, clock, queued, fair, fair_late = unpack(KEYS)
local prefix, limit = ARGV[1], tonumber(ARGV[2])
local now = time(clock)
local wakes = {}
local function queued_of(field) return tonumber(call('HGET', queued, field) or 0) end
local function starts_have_room(share) return queued_of(share) < maxWakeUpsQueued end
local function due_have_room(share) return queued_of(share:match(':.*')) < maxDueQueued end

local function wake(member) wakes[#wakes + 1] = hand_out(prefix .. 'run:' .. member, due, queued, member, now) end
local function wake_again(member, share)
  call('HSET', prefix .. 'run:' .. member, 'r', 1)
  call('HINCRBY', queued, share:match(':.*'), 1)
  wake(member)
end
local function put_back(member, share, turns, kind, at)
  wait_for_room(turns, prefix .. kind .. share, share, member, at)
  call('ZREM', due, member)
end

local overdue = call('ZRANGEBYSCORE', due, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
for i = 1, #overdue, 2 do
  local member = overdue[i]
  local run = prefix .. 'run:' .. member
  local f = call('HMGET', run, 'v', 'u', 'e', 'f', 'k', 'p')
  local own = f[3] == 'inf' and math.huge or tonumber(f[3] or 0)
  local share = share_of(member, f[6])
  if not f[1] then call('ZREM', due, member)
  elseif f[2] and tonumber(f[2]) > now then call('ZADD', due, f[2], member)
  elseif own > now and renewed(run, due, prefix .. 'permit:' .. member, member, own, now) then -- it has its next time
  elseif f[5] or f[2] then wake(member)
  elseif not f[4] and starts_have_room(share) then wake(member)
  elseif not f[4] then put_back(member, share, fair, 'due:', now)
  elseif due_have_room(share) and call('EXISTS', prefix .. 'late:' .. share) == 0 then wake_again(member, share)
  else put_back(member, share, fair_late, 'late:', overdue[i + 1]) end
end

local function goes_on() return #wakes < limit end
local passed = serve_in_turn(fair, prefix .. 'due:', starts_have_room, goes_on, function(member)
  local f = call('HMGET', prefix .. 'run:' .. member, 'v', 'f', 'k')
  local waits = f[1] and not f[2] and not f[3]
  if waits then wake(member) end
  return waits
end)
passed = passed + serve_in_turn(fair_late, prefix .. 'late:', due_have_room, goes_on, function(member, share)
  local f = call('HMGET', prefix .. 'run:' .. member, 'v', 'u', 'k')
  local waits = f[1] and not f[2] and not f[3] and not call('ZSCORE', due, member)
  if waits then wake_again(member, share) end
  return waits
end)
local full = #overdue >= 2 * limit or #wakes >= limit or passed >= maxPassedOver
return { now, full and 1 or 0, (call('EXISTS', fair) == 1 or call('EXISTS', fair_late) == 1) and 1 or 0, wakes }
