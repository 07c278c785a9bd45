-- Purpose: runs of sagas that are paused no more are due again. The run: and shelf: keys it touches are found in the shard, not
--          named by the caller.
-- KEYS: 1 due 2 clock 3 queued 4 shelves
-- ARGV: 1 prefix of the shard's keys 2 limit, then sagas that are paused
-- Answers: now, full (0 or 1), wake-ups
-- Invariant: a run leaves the shelf and is due in one write, so none is lost; one that is held is its holder's.
local due, clock, queued, shelves = unpack(KEYS)
local prefix, limit = ARGV[1], tonumber(ARGV[2])
local now = time(clock)
local paused = {}
for i = 3, #ARGV do paused[ARGV[i]] = true end

local sagas = call('SMEMBERS', shelves)
table.sort(sagas)
local wakes, taken = {}, 0
for _, saga in ipairs(sagas) do
  local shelf = prefix .. 'shelf:' .. saga
  local first = not paused[saga] and taken < limit and call('ZPOPMIN', shelf, limit - taken) or {}
  for i = 1, #first, 2 do
    local run = prefix .. 'run:' .. first[i]
    local f = call('HMGET', run, 'v', 'u')
    taken = taken + 1
    if f[1] and not (f[2] and tonumber(f[2]) > now) then
      wakes[#wakes + 1] = hand_out(run, due, queued, first[i], now)
    end
  end
  if call('EXISTS', shelf) == 0 then call('SREM', shelves, saga) end
end
return { now, taken >= limit and 1 or 0, wakes }
