-- Purpose: what somebody has done is kept where no other write is it.
-- KEYS: 1 clock 2 audit
-- ARGV: 1 act
-- Answers: OK now
-- Invariant: the newest are kept.
local clock, audit = unpack(KEYS)
local now = time(clock)

remember(audit, now, ARGV[1])
return { 'OK', now }
