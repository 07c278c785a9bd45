-- Purpose: somebody else than the driver has something for a run: an entry in its inbox, and the run is due.
-- KEYS: 1 run 2 due 3 clock 4 queued 5 inbox 6 slots 7 audit
-- ARGV: 1 member 2 slot 3 command id 4 sender and body 5 gate ('': always open) 6 flags (b bounded, o reopens) 7 act ('': nobody's), then rivals:
--       slots that count as this one's, when they are taken
-- Answers: OK now position [wake-up] | DUP now | TAKEN now winner its-slot | ENDED now status | GONE now | ABSENT now | FULL now
-- Invariant: the first writer of a slot wins, for as long as the slot is remembered.
local run, due, clock, queued, inbox, slots, audit = unpack(KEYS)
local member, slot, command, rest_of_entry, gate, flags, act = unpack(ARGV)
local now = time(clock)

local f = call('HMGET', run, 'v', 's', 'g', 'u')
if not f[1] then return { 'ABSENT', now } end
local winner = call('HGET', inbox, slot) or call('HGET', slots, slot)
if winner and winner:match('^[^\n]*\n([^\n]*)') == command then return { 'DUP', now } end
if winner then return { 'TAKEN', now, winner, slot } end
for i = 8, #ARGV do
  local rival = call('HGET', inbox, ARGV[i]) or call('HGET', slots, ARGV[i])
  if rival then return { 'TAKEN', now, rival, ARGV[i] } end
end
if f[2]:find('[cfx]') and not flags:find('o') then return { 'ENDED', now, f[2] } end
local open = '\n' .. (f[3] or '') .. '\n'
if gate ~= '' and not open:find('\n' .. gate .. '\n', 1, true) then return { 'GONE', now } end
if flags:find('b') and call('HLEN', inbox) >= maxEntriesWaiting then return { 'FULL', now } end

local position = call('HINCRBY', run, 'n', 1)
call('HSET', inbox, slot, position .. ' ' .. now .. '\n' .. command .. '\n' .. rest_of_entry)
remember(audit, now, act)
if f[4] and tonumber(f[4]) > now then return { 'OK', now, position } end
return { 'OK', now, position, hand_out(run, due, queued, member, now) }
