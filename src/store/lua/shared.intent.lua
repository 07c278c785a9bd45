-- Shared: an intent's hash, how long it is kept, and who listens.
-- Intent hash: s state (c claimed, u unknown, d done, f free), g generation, o owner, a hash of the arguments, t claimed
-- at, u claim is over at, e kept until, v outcome, l who freed the generation before: always all of them ('': none);
-- then w<name> of each waiter, r<name> of each reuser and x<name> of each claim that was given up unowned -> the
-- generation it heard of.
-- Invariant: what is no longer kept is not seen, whether or not Redis has removed it; only a write says anew how long.
local intent_fields = 9

local function intent_at(intent, now)
  local f = call('HMGET', intent, 's', 'g', 'o', 'a', 't', 'u', 'e', 'v', 'l')
  if not f[1] or f[7] ~= '' and tonumber(f[7]) <= now then return nil end
  return { state = f[1], generation = tonumber(f[2]), owner = f[3], args = f[4], claimed = f[5], over = f[6],
    outcome = f[8], freed_by = f[9] }
end

-- Writes fields; `e` is among them.
local function keep_intent(intent, now, keep, fields)
  local until_ms = keep ~= '' and now + keep or ''
  call('HSET', intent, 'e', until_ms, unpack(fields))
  if keep == '' then call('PERSIST', intent) else call('PEXPIREAT', intent, until_ms) end
end

-- Beside the owner: a waiter, a reuser, or who gave up. 1: it is kept. 0: there is no room.
local function listen(intent, role, name, generation)
  local is_new = call('HEXISTS', intent, role .. name) == 0
  if is_new and call('HLEN', intent) >= intent_fields + maxIntentListeners then return 0 end
  call('HSET', intent, role .. name, generation)
  return 1
end

-- Waiters, and reusers of this generation.
local function listeners(intent, generation)
  local waiters, reusers = {}, {}
  for _, field in ipairs(call('HKEYS', intent)) do
    local role, name = field:match('^([wr])(.+)$')
    if role == 'w' then waiters[#waiters + 1] = name end
    if role == 'r' and tonumber(call('HGET', intent, field)) == generation then reusers[#reusers + 1] = name end
  end
  return waiters, reusers
end
