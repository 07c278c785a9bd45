-- Purpose: many leases of one shard live on; each driver hears whether it still holds its run and what is in its inbox.
-- KEYS: 1 due 2 clock 3 queued, then run and held of each lease
-- ARGV: 1 leaseMs, then member, fence, token of each lease
-- Answers: now, then OK or FENCED and the inbox position of each lease
-- Invariant: only the holder of the newest fence is renewed; a lapsed lease that nobody took is whole again.
local due, clock, queued = unpack(KEYS)
local now = time(clock)
local answers = { now }
for i = 1, (#KEYS - 3) / 2 do
  local run, held = KEYS[2 * i + 2], KEYS[2 * i + 3]
  local member, fence, token = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
  local f = call('HMGET', run, 'f', 't', 'n', 'm', 'k', 'p')
  local holds = f[1] == fence and f[2] == token
  if holds then
    call('HSET', run, 'u', now + ARGV[1])
    mend(run, due, queued, held, member, f[4], f[5], f[6], now + ARGV[1])
  end
  answers[2 * i] = holds and 'OK' or 'FENCED'
  answers[2 * i + 1] = f[3] or 0
end
return answers
