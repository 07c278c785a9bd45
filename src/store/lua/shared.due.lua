-- Shared: time, and handing runs out. scripts.ts puts the limits of limits.ts and the shared parts before a script.
-- Invariant: time never goes back; a run handed out is due again after its grace, so no wake-up is lost for good.
-- Run hash: v revision, s status, f fence, w wake, k hand-outs, o t u m lease (owner, token, until, mark), b nothing was
-- committed under this fence, d taken from, x suspect, c commit id, i create's command id, n inbox position, g gates,
-- p pool, q priority, e own due, r handed out by the sweep as due again. All short, so that the hash stays a listpack; the record is a key of its own.
local call = redis.call

local function time(clock)
  local t = call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local highest = tonumber(call('GET', clock) or 0)
  if now <= highest then return highest end
  call('SET', clock, now)
  return now
end

-- Whose share of the queue a run's wake-ups count against: a tenant's in a pool.
local function share_of(member, pool) return member:match('^[^:]+') .. ':' .. (pool or 'default') end

-- The wake-up of a run that is due: member, wake number, pool, priority. A queue that holds the number and never delivers
-- it swallows it each time it is added: from the 4th hand-out on, whenever their count has doubled, the number is a new one.
local function hand_out(run, due, queued, member, now)
  local f = call('HMGET', run, 'w', 'k', 'p', 'q')
  local n = tonumber(f[2] or 0)
  if n == 0 or tonumber(call('ZSCORE', due, member) or 0) <= now then
    if n == 0 then call('HINCRBY', queued, share_of(member, f[3]), 1) end
    call('HSET', run, 'k', n + 1)
    if n + 1 >= firstFreshHandOut and bit.band(n, n + 1) == 0 then f[1] = tostring(call('HINCRBY', run, 'w', 1)) end
    call('HDEL', run, 'e')
    call('ZADD', due, now + math.min(wakeGraceMs * 2 ^ math.min(n, 10), maxWakeGraceMs), member)
  end
  return { member, f[1], f[3], f[4] }
end

-- The same of a run that has just begun to exist, of which everything is known.
local function hand_out_first(run, due, queued, member, share, now, pool, priority)
  call('HINCRBY', queued, share, 1)
  call('HSET', run, 'k', 1)
  call('ZADD', due, now + wakeGraceMs, member)
  return { member, '1', pool, priority }
end

-- Fields of `queued`: a share; `:<pool>`, those of the pool that came due again.
local function less_queued(queued, field)
  if call('HINCRBY', queued, field, -1) <= 0 then call('HDEL', queued, field) end
end

-- The wake-up handed out was taken up, or counts no more. `handed`, `pool`: the run hash's k and p.
local function take_up(run, queued, member, handed, pool)
  if not handed then return end
  local fields = call('HDEL', run, 'k', 'r')
  local share = share_of(member, pool)
  less_queued(queued, share)
  if fields == 2 then less_queued(queued, share:match(':.*')) end
end
