-- Shared: a plan's hash.
-- Plan hash: p body, e expires at, b taken by, c by which command, and r<n> what came of the nth item of a batch.
-- Invariant: what has expired is not seen, whether or not Redis has removed it.
local function plan_at(plan, now)
  local f = call('HMGET', plan, 'p', 'e', 'b', 'c')
  if not f[1] or tonumber(f[2]) <= now then return nil end
  return { body = f[1], expires = f[2], by = f[3], command = f[4] }
end
