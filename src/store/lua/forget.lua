-- Purpose: a run remembers a bounded number of slots taken; the oldest are forgotten.
-- KEYS: 1 slots
-- ARGV: 1 how many to keep
-- Answers: how many were forgotten
-- Invariant: the newest are kept, by position.
local slots = KEYS[1]
local keep = tonumber(ARGV[1])

local all = redis.call('HGETALL', slots)
local taken = {}
for i = 1, #all, 2 do taken[#taken + 1] = { all[i], tonumber(all[i + 1]:match('^%d+')) } end
table.sort(taken, function(a, b) return a[2] < b[2] end)

for i = 1, #taken - keep do redis.call('HDEL', slots, taken[i][1]) end
return math.max(#taken - keep, 0)
