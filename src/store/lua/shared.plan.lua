-- Shared: a plan's hash.
-- Plan hash: p body, e expires at, b taken by, c by which command; of a batch r<n> what came of the nth item, s since when, by whom and why
-- it is suspended.
-- Invariant: what has expired is not seen, whether or not Redis has removed it.
local function plan_at(plan, now)
  -- Not the body: it may be large, and nobody decides by it.
  local f = call('HMGET', plan, 'e', 'b', 'c', 's')
  if not f[1] or tonumber(f[1]) <= now then return nil end
  return { by = f[2], command = f[3], suspended = f[4] or '' }
end
