-- Purpose: the owner of an intent says what became of it, and hears whom to tell.
-- KEYS: 1 clock 2 intent
-- ARGV: 1 owner 2 became (d succeeded, f not applied or withdrawn, z undone, u unknown) 3 outcome 4 keepMs ('': for ever)
-- Answers: OK, DUP now generation waiters reusers | FENCED now
-- Invariant: only its owner publishes, and what it published first stands; only undone follows succeeded. A claim that is
-- given up before it has come here is answered GONE if it still does.
local clock, intent = unpack(KEYS)
local owner, became, outcome, keep = unpack(ARGV)
local now = time(clock)

local known = intent_at(intent, now)
if not known then
  if became == 'f' or became == 'z' then
    call('DEL', intent)
    keep_intent(intent, now, keep, { 's', 'f', 'g', 0, 'o', owner, 'a', '', 't', now, 'u', '', 'v', '', 'l', '' })
  end
  return { 'FENCED', now }
end
if known.owner ~= owner then
  if known.freed_by ~= owner then
    if became == 'f' or became == 'z' then
      call('HDEL', intent, 'w' .. owner, 'r' .. owner)
      listen(intent, 'x', owner, known.generation)
    end
    return { 'FENCED', now }
  end
  local before = known.generation - 1
  return { 'DUP', now, before, listeners(intent, before) }
end
local state = known.state
local stands = state == 'f' or state == 'd' and became ~= 'z' or state == 'u' and became == 'u'
if stands then return { 'DUP', now, known.generation, listeners(intent, known.generation) } end

keep_intent(intent, now, keep, { 's', became == 'z' and 'f' or became, 'v', outcome })
return { 'OK', now, known.generation, listeners(intent, known.generation) }
