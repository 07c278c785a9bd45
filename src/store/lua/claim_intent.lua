-- Purpose: whoever claims an intent first may make its effect; everybody else hears how it stands.
-- KEYS: 1 clock 2 intent
-- ARGV: 1 owner 2 hash of the arguments 3 claimMs ('': never over) 4 keepMs ('': for ever) 5 replaces ('': nobody)
--       6 listens (1 or 0)
-- Answers: MINE now generation | BUSY now owner generation state claimed-at over-at heard
--          | DONE now owner generation outcome heard | CONFLICT now owner hash | GONE now
-- Invariant: one owner a generation, which alone renews its claim; asking again is answered the same and changes nothing.
local clock, intent = unpack(KEYS)
local owner, args, claim, keep, replaces, listens = unpack(ARGV)
local now = time(clock)
local over = claim ~= '' and now + claim or ''

local known = intent_at(intent, now)
if known and call('HEXISTS', intent, 'x' .. owner) == 1 then return { 'GONE', now } end
local is_free = not known or known.state == 'f'
if not is_free and known.args ~= args then return { 'CONFLICT', now, known.owner, known.args } end
if known and is_free and known.owner == owner then return { 'GONE', now } end
if not is_free and known.state == 'c' and known.owner == owner then
  keep_intent(intent, now, keep, { 'u', over })
  return { 'MINE', now, known.generation }
end

if known and known.state == 'd' then
  call('HDEL', intent, 'w' .. owner)
  local heard = listens == '1' and owner ~= known.owner and listen(intent, 'r', owner, known.generation) or 0
  return { 'DONE', now, known.owner, known.generation, known.outcome, heard }
end
local may_replace = known and not is_free and known.owner == replaces
  and (known.state == 'u' or known.over ~= '' and tonumber(known.over) <= now)
if not is_free and not may_replace then
  local heard = listens == '1' and owner ~= known.owner and listen(intent, 'w', owner, known.generation) or 0
  return { 'BUSY', now, known.owner, known.generation, known.state, known.claimed, known.over, heard }
end

if not known then call('DEL', intent) end
local generation = known and known.generation + 1 or 1
local freed_by = known and is_free and known.owner or ''
call('HDEL', intent, 'w' .. owner, 'r' .. owner)
keep_intent(intent, now, keep, { 's', 'c', 'g', generation, 'o', owner, 'a', args, 't', now, 'u', over, 'v', '',
  'l', freed_by })
return { 'MINE', now, generation }
