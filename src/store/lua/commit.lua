-- Purpose: the one write that moves a run. Record, rows, log, inbox, listings, permits, lease and due, together or not.
-- KEYS: 1 run 2 due 3 clock 4 queued 5 record 6 ledger 7 log 8 inbox 9 slots 10 permits 11 held, then listings left, joined, structures where a run joins one, and box, runs and turns of each notice
-- ARGV: 1 member 2 id 3 commit id 4 expects 5 fence 6 token 7 leaseMs 8 decided at 9 seen 10 flags (m must see, r release,
--       o outcome, s structures is among the keys, l<n> the log keeps n entries, e<ms> kept until) 11 due 12 record 13 status 14 gates 15 log entry 16 createdAt 17 channel 18 owner 19 listings left,
--       then lists of strings, each after its length: rows (seq, row), and, where one of them is not empty, consumed slots, withdrawn (seq, send), settled, aborted, outputs (name, value), notices, lost log entries
-- Answers: OK now slots-taken entries | DUP, INBOX now 0 entries | PERMITTED now permits | FENCED STALE CLOCK GAP now
-- Invariant: a revision is written once, by the holder of the newest fence; the same commit again changes nothing.
local run, due, clock, queued, rec, ledger, log, inbox, slots, permits, held = unpack(KEYS)
local member, id, commit, expects, fence, token, lease, decided, seen, flags = unpack(ARGV)
local now = time(clock)
local lists, at = {}, 20
for n = 1, 8 do
  lists[n] = { unpack(ARGV, at + 1, at + (ARGV[at] or 0)) }
  at = at + #lists[n] + 1
end
local rows, consumed, withdrawn, settled, aborted, outputs, notices, lost = unpack(lists)
local f = call('HMGET', run, 'v', 'f', 't', 'c', 'n', 'm', 'k', 'p', 'b', 'd', 'g', 'x')
local entries = newer(inbox, f[5], tonumber(seen))
if f[4] == commit then return { 'DUP', now, 0, entries } end
if f[3] ~= token or f[2] ~= fence then return { 'FENCED', now } end
if f[1] ~= expects then return { 'STALE', now } end
if tonumber(decided) > now then return { 'CLOCK', now } end
if flags:find('[mr]') and #entries > 0 then return { 'INBOX', now, 0, entries } end
local given = permits_of(permits, withdrawn)
if #given > 0 then return { 'PERMITTED', now, given } end
local length = #rows > 0 and call('LLEN', ledger)
local next = length
for i = 1, #rows, 2 do
  if tonumber(rows[i]) > next + 1 then return { 'GAP', now } end
  next = math.max(next, tonumber(rows[i]))
end

local listings = #KEYS - 3 * #notices - (flags:find('s') and 1 or 0)
for i = 12, listings do
  local own = KEYS[i]:find('}:by:', 1, true)
  local name = own and id or member
  if i <= 11 + ARGV[19] then call('ZREM', KEYS[i], name)
  else call('ZADD', KEYS[i], KEYS[i]:find('}:expiring$') and flags:match('e(%d+)') or ARGV[16], name) end
  local structure = flags:find('s') and i > 11 + ARGV[19] and not own and KEYS[i]:match('}:open:(.+)')
  if structure then call('SADD', KEYS[listings + 1], structure) end
end
for i = 1, #rows, 2 do
  if tonumber(rows[i]) > length then call('RPUSH', ledger, rows[i + 1]) else call('LSET', ledger, rows[i] - 1, rows[i + 1]) end
end
lost[#lost + 1] = with_owner(ARGV[15], f[9], ARGV[18])
for _, entry in ipairs(lost) do call('RPUSH', log, entry) end
if flags:find('l') then call('LTRIM', log, -flags:match('l(%d+)'), -1) end
local taken, revision = consume(inbox, slots, consumed), expects + #lost
for _, seq in ipairs(settled) do call('HDEL', permits, seq) end
for _, seq in ipairs(aborted) do abort(permits, seq) end
call('SET', rec, ARGV[12] .. (#outputs > 0 and '\n' .. referred(ledger, outputs) or ''))
call('HSET', run, 'v', revision, 's', ARGV[13], 'c', commit, 'u', now + lease)
if f[9] or f[10] or f[11] or f[12] then call('HDEL', run, 'b', 'd', 'g', flags:find('o') and 'x' or 'd') end
if ARGV[14] ~= '' then call('HSET', run, 'g', ARGV[14]) end
if flags:find('r') then rest(run, due, queued, held, permits, member, ARGV[11])
else mend(run, due, queued, held, member, f[6], f[7], f[8], now + lease) end
owe(KEYS, notices, member, now)
call('PUBLISH', ARGV[17], member .. ' ' .. revision .. ' ' .. ARGV[13])
return { 'OK', now, taken, entries }
