-- Purpose: a record and the fields kept beside it, of one moment.
-- KEYS: 1 run 2 record
-- ARGV: none
-- Answers: record revision status pool priority; the record is nil where there is no run
-- Invariant: nothing is written.
local run, rec = unpack(KEYS)

local f = redis.call('HMGET', run, 'v', 's', 'p', 'q')
return { redis.call('GET', rec), f[1], f[2], f[3], f[4] }
