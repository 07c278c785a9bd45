-- Purpose: runs of one shard that are overdue, then starts that waited for their tenant's share, one tenant after the
--          other. The run:, permit: and due:<share> keys it touches are found in the shard, not named by the caller.
-- KEYS: 1 due 2 clock 3 queued 4 fair
-- ARGV: 1 prefix of the shard's keys 2 limit
-- Answers: now, full (0 or 1), wake-ups
-- Invariant: each is given a grace before it is answered again; a held run and a renewed permit are left alone.
local due, clock, queued, fair = unpack(KEYS)
local prefix, limit = ARGV[1], tonumber(ARGV[2])
local now = time(clock)
local wakes = {}
local function is_over(share) return tonumber(call('HGET', queued, share) or 0) >= maxWakeUpsQueued end

-- Looked at for a permit only (`own`: what the run itself wants), and all its permits were renewed meanwhile.
local function renewed(run, member, own)
  local first = first_until(prefix .. 'permit:' .. member) or math.huge
  if first <= now then return false end
  if own <= first then call('HDEL', run, 'e') end
  local again = math.min(own, first)
  if again == math.huge then call('ZREM', due, member) else call('ZADD', due, again, member) end
  return true
end

local overdue = call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)
for _, member in ipairs(overdue) do
  local run = prefix .. 'run:' .. member
  local f = call('HMGET', run, 'v', 'u', 'e', 'f', 'k', 'p')
  local own = f[3] == 'inf' and math.huge or tonumber(f[3] or 0)
  local share = share_of(member, f[6])
  if not f[1] then call('ZREM', due, member)
  elseif f[2] and tonumber(f[2]) > now then call('ZADD', due, f[2], member)
  elseif own > now and renewed(run, member, own) then -- it has its next time
  elseif not f[4] and not f[5] and is_over(share) then
    if call('EXISTS', prefix .. 'due:' .. share) == 0 then call('RPUSH', fair, share) end
    call('ZADD', prefix .. 'due:' .. share, now, member)
    call('ZREM', due, member)
  else wakes[#wakes + 1] = hand_out(run, due, queued, member, now) end
end

-- A turn ends with a start; what was taken up in another way costs nobody's turn, and no sweep's.
local idle, passed = 0, 0
while #wakes < limit and passed < maxPassedOver and idle < call('LLEN', fair) do
  local share = call('LPOP', fair)
  local backlog = prefix .. 'due:' .. share
  local first = is_over(share) and {} or call('ZPOPMIN', backlog)
  local f = first[1] and call('HMGET', prefix .. 'run:' .. first[1], 'v', 'f', 'k') or {}
  local fresh = f[1] and not f[2] and not f[3]
  if fresh then wakes[#wakes + 1] = hand_out(prefix .. 'run:' .. first[1], due, queued, first[1], now) end
  if first[1] and not fresh then passed = passed + 1 end
  idle = first[1] and 0 or idle + 1
  if call('EXISTS', backlog) == 1 then call('RPUSH', fair, share) end
end
local full = #overdue >= limit or #wakes >= limit or passed >= maxPassedOver
return { now, full and 1 or 0, wakes }
