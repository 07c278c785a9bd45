-- Purpose: a run begins to exist: record, first log entry, listings, and it is due (or waits for its tenant's share).
-- KEYS: 1 run 2 due 3 clock 4 queued 5 record 6 log 7 fair 8 backlog 9 structures 10 gone, the ledger where there are rows, then
-- the listings joined
-- ARGV: 1 member 2 id 3 command id 4 createdAt 5 startAt 6 record 7 status 8 log entry 9 pool 10 priority 11 revision, then the rows
-- Answers: OK now [wake-up] | KNOWN now record revision status (the caller tells EXISTS from CONFLICT) | GONE now free-at
-- Invariant: one run per id; the same command again changes nothing and is answered OK.
local run, due, clock, queued, rec, log, fair, backlog, structures, gone = unpack(KEYS)
local member, id, command, created, start, record, status, entry, pool, priority, revision = unpack(ARGV)
local now = time(clock)

local f = call('HMGET', run, 'i', 'v', 's', 'f', 'k')
if f[2] and f[1] ~= command then return { 'KNOWN', now, call('GET', rec), f[2], f[3] } end
if f[2] and (f[4] or not f[5]) then return { 'OK', now } end
if f[2] then return { 'OK', now, hand_out(run, due, queued, member, now) } end
local free = call('ZSCORE', gone, member)
if free and tonumber(free) > now then return { 'GONE', now, free } end

local delayed = start ~= created and tonumber(start) > now
local share = share_of(member, pool ~= '' and pool)
local waiting = not delayed and call('EXISTS', backlog) == 1
local waits = waiting or not delayed and tonumber(call('HGET', queued, share) or 0) >= maxWakeUpsQueued
call('SET', rec, record)
call('HSET', run, 'v', revision, 's', status, 'w', 1, 'i', command)
if pool ~= '' then call('HSET', run, 'p', pool) end
if priority ~= '' then call('HSET', run, 'q', priority) end
call('RPUSH', log, entry)
for i = 12, #ARGV do call('RPUSH', KEYS[11], ARGV[i]) end
for i = #ARGV > 11 and 12 or 11, #KEYS do
  local own = KEYS[i]:find('}:by:', 1, true)
  call('ZADD', KEYS[i], created, own and id or member)
  local structure = not own and KEYS[i]:match('}:open:(.+)')
  if structure then call('SADD', structures, structure) end
end
if waits then
  wait_for_room(fair, backlog, share, member, now)
  return { 'OK', now }
end
if delayed then
  call('ZADD', due, start, member)
  return { 'OK', now }
end
return { 'OK', now, hand_out_first(run, due, queued, member, share, now, pool ~= '' and pool, priority ~= '' and priority) }
