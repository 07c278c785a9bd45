-- Purpose: a process says how it is, and hears what it is asked.
-- KEYS: 1 clock 2 heartbeat 3 its drain 4 heard (id -> time of its last heartbeat) 5 supervised (when a supervisor was last heard)
-- ARGV: 1 id 2 heartbeat 3 '1': of a supervisor
-- Answers: drain ('': none) | supervised ('': not lately) | now
-- Invariant: nothing is left of anybody, nor of what was asked of it, heartbeatKeptMs after its last heartbeat.
local clock, heartbeat, drain, heard, supervised = unpack(KEYS)
local id, text, supervises = unpack(ARGV)
local now = time(clock)

call('SET', heartbeat, text, 'PX', heartbeatKeptMs)
call('ZADD', heard, now, id)
call('ZREMRANGEBYSCORE', heard, '-inf', now - heartbeatKeptMs)
call('PEXPIRE', heard, heartbeatKeptMs)
call('PEXPIRE', drain, heartbeatKeptMs)
if supervises == '1' then call('SET', supervised, now, 'PX', heartbeatKeptMs) end
return { call('GET', drain) or '', call('GET', supervised) or '', now }
