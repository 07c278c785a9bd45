-- Purpose: a process says how it is, and hears what it is asked.
-- KEYS: 1 clock 2 heartbeat 3 its drain 4 heard (id -> time of its last heartbeat) 5 supervised (when a supervisor was last heard)
--       6 teller (the supervisor that tells, and when it was last heard)
-- ARGV: 1 id 2 heartbeat 3 '1': of a supervisor
-- Answers: drain ('': none) | supervised ('': not lately) | now | 1: it is the one that tells
-- Invariant: of several supervisors one tells, until it is stale. Nothing is left of anybody, nor of what was asked of it, heartbeatKeptMs after its last heartbeat.
local clock, heartbeat, drain, heard, supervised, teller = unpack(KEYS)
local id, text, supervises = unpack(ARGV)
local now = time(clock)

call('SET', heartbeat, text, 'PX', heartbeatKeptMs)
call('ZADD', heard, now, id)
call('ZREMRANGEBYSCORE', heard, '-inf', now - heartbeatKeptMs)
call('PEXPIRE', heard, heartbeatKeptMs)
call('PEXPIRE', drain, heartbeatKeptMs)
local tells = 0
if supervises == '1' then
  call('SET', supervised, now, 'PX', heartbeatKeptMs)
  local who, at = (call('GET', teller) or ''):match('^(%S+) (%d+)$')
  if not who or who == id or at + staleAfterMs < now then
    call('SET', teller, id .. ' ' .. now, 'PX', heartbeatKeptMs)
    tells = 1
  end
end
return { call('GET', drain) or '', call('GET', supervised) or '', now, tells }
