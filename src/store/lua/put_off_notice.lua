-- Purpose: the first notice of a run was not taken: it is tried again later, and the run stands no more among those that were not tried.
-- KEYS: 1 clock 2 box 3 runs 4 turns 5 tried
-- ARGV: 1 run 2 text 3 afterMs 4 why
-- Answers: OK | GONE
-- Invariant: it stays owed, and stays the first of its run.
local clock, box, _, turns, tried = unpack(KEYS)
local run, text, after, why = unpack(ARGV)
local now = time(clock)
local _, first = first_of(box, run)
if first ~= text then return { 'GONE' } end
local tries = (call('HGET', tried, run) or '0'):match('^%d+')
call('HSET', tried, run, string.format('%d %.0f %s', tries + 1, now, why))
call('ZADD', turns, now + after, run)
return { 'OK' }
