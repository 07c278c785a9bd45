-- Purpose: hands out runs that may be deleted. Whoever gets them has them for a while, so that no two workers delete the same.
-- KEYS: 1 expiring 2 clock 3 gone
-- ARGV: 1 limit 2 how long they are not handed out again, in ms
-- Answers: now member ...
-- Invariant: a run that is not deleted is handed out again later. Ids that are free again are forgotten, a few at a time.
local expiring, clock, gone = unpack(KEYS)
local now = time(clock)

for _, member in ipairs(call('ZRANGEBYSCORE', gone, '-inf', now, 'LIMIT', 0, ARGV[1])) do call('ZREM', gone, member) end
local members = call('ZRANGEBYSCORE', expiring, '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(members) do call('ZADD', expiring, now + ARGV[2], member) end
return { now, unpack(members) }
