-- Purpose: the first notice of a run was taken by its hook, or refused for good: it is owed no more.
-- KEYS: 1 box 2 runs 3 turns 4 tried
-- ARGV: 1 run 2 text
-- Answers: OK next text ('': none is owed) | GONE next text
-- Invariant: what is not the first of its run is left: it was not told.
local box, runs, turns, tried = unpack(KEYS)
local run, text = unpack(ARGV)
local member, first = first_of(box, run)
if first ~= text then return { 'GONE', first or '' } end
return { 'OK', strike(box, runs, turns, tried, run, member) or '' }
