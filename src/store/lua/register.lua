-- Purpose: a saga's structure takes the place of the one registered, if that is still the one the caller looked at.
-- KEYS: 1 sagas
-- ARGV: 1 saga@version 2 hash, structure and schemas 3 those it replaces ('': none)
-- Answers: OK | MOVED
-- Invariant: of two who register at once, the second looks again.
local sagas = KEYS[1]
local name, structure, replaces = unpack(ARGV)

if (redis.call('HGET', sagas, name) or '') ~= replaces then return 'MOVED' end

redis.call('HSET', sagas, name, structure)
return 'OK'
