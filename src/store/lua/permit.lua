-- Purpose: the worker of a named queue that took a job may make the call: a row that is offered and has a permit is sent.
-- KEYS: 1 run 2 due 3 clock 4 ledger 5 permits 6 record
-- ARGV: 1 member 2 seq 3 send and side ("2a", "1u") 4 token 5 owner 6 leaseMs 7 windowMs
-- Answers: OK now record revision status pool priority row | GONE now
-- Invariant: one permit per send of a row, ever; the same token again is answered the same.
local run, due, clock, ledger, permits, rec = unpack(KEYS)
local member, seq, call_of, token, owner, lease, window = unpack(ARGV)
local now = time(clock)

local f = call('HMGET', run, 'u', 'v', 's', 'p', 'q')
local row = f[2] and tonumber(seq) > 0 and call('LINDEX', ledger, seq - 1)
if not row or row:sub(1, #call_of + 1) ~= call_of .. ';' then return { 'GONE', now } end
if f[3]:find('[cfx]') or f[3] == 'u' and call_of:find('a$') then return { 'GONE', now } end
local known = call('HGET', permits, seq) or ''
local given_to = known:match('^%S+') == call_of and known:match('\n([^\n]*)')
if given_to and given_to ~= token then return { 'GONE', now } end

if not given_to then
  local times = now + lease .. ' ' .. now .. ' ' .. now + window
  call('HSET', permits, seq, call_of .. ' ' .. times .. ' 0\n' .. token .. '\n' .. owner)
  if not f[1] or tonumber(f[1]) <= now then bring_forward(run, due, permits, member) end
end
return { 'OK', now, call('GET', rec), f[2], f[3], f[4], f[5], row }
