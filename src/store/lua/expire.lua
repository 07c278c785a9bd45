-- Purpose: the leases of an owner that is gone end now, so that others take its runs at once.
-- KEYS: 1 due 2 clock 3 owners 4 suspects 5 held
-- ARGV: 1 prefix of the shard's keys 2 owner 3 registration ('': whatever it is) 4 mark (died, or left in good order)
-- Answers: leases ended, more (0 or 1)
-- Invariant: nothing is done to an owner that registered again meanwhile; it is forgotten with its last lease.
local due, clock, owners, suspects, held = unpack(KEYS)
local prefix, owner, registration, mark = unpack(ARGV)
local now = time(clock)

local known = call('HGET', owners, owner)
if registration ~= '' and known and known ~= registration then return { 0, 0 } end

local driven = call('HGET', suspects, owner)
local ended = 0
for _, member in ipairs(call('SPOP', held, maxLeasesExpired)) do
  local run = prefix .. 'run:' .. member
  local f = call('HMGET', run, 'o', 'u')
  if f[1] == owner then
    local counts = mark == 'died' and (not driven or driven == member)
    call('HSET', run, 'u', math.min(tonumber(f[2]), now), 'm', counts and 'died' or 'left')
    call('ZADD', due, now, member)
    ended = ended + 1
  end
end
if call('EXISTS', held) == 1 then return { ended, 1 } end
call('HDEL', owners, owner)
call('HDEL', suspects, owner)
return { ended, 0 }
