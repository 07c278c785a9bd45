-- Purpose: a part of a run's log, which may have lost its oldest entries.
-- KEYS: 1 run 2 log
-- ARGV: 1 first revision wanted 2 last ('': the newest)
-- Answers: revision of the first entry told, revision of the first one kept, entries
-- Invariant: nothing is changed; revision and log are read at one moment.
local run, log = unpack(KEYS)
local length = redis.call('LLEN', log)
local kept = (tonumber(redis.call('HGET', run, 'v')) or 0) - length + 1
local first = math.max(ARGV[1] - 0, kept)
local last = ARGV[2] == '' and -1 or ARGV[2] - kept
if ARGV[2] ~= '' and last < 0 then return { first, kept, {} } end
return { first, kept, redis.call('LRANGE', log, first - kept, last) }
