-- Shared: what is owed to one hook in a shard. box: "<run> <text> <time owed>", all of score 0, so that those of one run lie together in
-- its order; runs: run -> time of the oldest that is owed; turns: run -> `untried` + that time while its next one was not tried, else
-- the time from which it may be told again; tried: run -> "<tries> <time of the last> <why>". A run is in runs and turns while it is in box.
-- Invariant: of a run nothing but its first one is told.
local untried = -1e13 -- with a time added it is exact, and below 0

local function first_of(box, run)
  local member = call('ZRANGEBYLEX', box, '[' .. run .. ' ', '(' .. run .. '!', 'LIMIT', 0, 1)[1]
  if member then return member, member:match('^%S+ (.*) (%d+)$') end
end

-- The last keys are box, runs and turns of each.
local function owe(keys, notices, run, now)
  for n, text in ipairs(notices) do
    local box, runs, turns = unpack(keys, #keys - 3 * (#notices - n) - 2)
    call('ZADD', box, 0, run .. ' ' .. text .. ' ' .. now)
    if call('ZADD', runs, 'NX', now, run) == 1 then call('ZADD', turns, untried + now, run) end
  end
end

-- The first one of a run is owed no more; the next one, which is answered, was not tried.
local function strike(box, runs, turns, tried, run, member)
  call('ZREM', box, member)
  call('HDEL', tried, run)
  local next, text, since = first_of(box, run)
  if next then
    call('ZADD', runs, since, run)
    call('ZADD', turns, untried + since, run)
    return text
  else
    call('ZREM', runs, run)
    call('ZREM', turns, run)
  end
end
