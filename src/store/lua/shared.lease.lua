-- Shared: what becomes of a lease. `rest` gives it back, `mend` makes it whole again. Comes after due.lua.
-- Invariant: a run at rest is due when it wants to be or when its first permit runs out, whichever comes first.

-- When the first of a run's permits runs out; nil: it has none.
local function first_until(permits)
  local first
  for _, permit in ipairs(call('HVALS', permits)) do
    local at = tonumber(permit:match('^%S+ (%d+)'))
    if not first or at < first then first = at end
  end
  return first
end

-- What the run itself wants is kept in e while a permit's end comes before it.
local function bring_forward(run, due, permits, member)
  local first = first_until(permits)
  if not first then return end
  local own = call('HGET', run, 'e') or call('ZSCORE', due, member) or 'inf'
  if own ~= 'inf' and tonumber(own) <= first then return end
  call('HSET', run, 'e', own)
  call('ZADD', due, first, member)
end

-- Was it looked at for a permit only (`own`: what the run itself wants), and all its permits were renewed meanwhile?
local function renewed(run, due, permits, member, own, now)
  local first = first_until(permits) or math.huge
  if first <= now then return false end
  if own <= first then call('HDEL', run, 'e') end
  local again = math.min(own, first)
  if again == math.huge then call('ZREM', due, member) else call('ZADD', due, again, member) end
  return true
end

local function rest(run, due, queued, held, permits, member, wanted)
  local f = call('HMGET', run, 'k', 'p')
  take_up(run, queued, member, f[1], f[2])
  call('HDEL', run, 'o', 't', 'u', 'm', 'e')
  call('SREM', held, member)
  if wanted == '' then call('ZREM', due, member) else call('ZADD', due, wanted, member) end
  bring_forward(run, due, permits, member)
end

-- After u was set. A lease renewed in time has no mark and was not handed out; for it nothing is left to do. The score in
-- `due` stays behind: it is at most the lease's end, and the sweep that finds it moves it there.
local function mend(run, due, queued, held, member, mark, handed, pool, expires)
  if not mark and not handed then return end
  call('HDEL', run, 'm')
  call('SADD', held, member)
  take_up(run, queued, member, handed, pool)
  call('ZADD', due, expires, member)
end
