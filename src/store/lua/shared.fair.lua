-- Shared: runs that wait until the queue has room for them: a sorted set a share, and a list of the shares, the next to be
-- served first. Comes after due.lua.
-- Invariant: a share is in the list once while its set is not empty; one after the other gets its turn.
local function wait_for_room(turns, backlog, share, member, at)
  if call('EXISTS', backlog) == 0 then call('RPUSH', turns, share) end
  call('ZADD', backlog, at, member)
end

-- Calls `serve` with the first of each share in turn while `goes_on` and somebody has room. A turn ends when `serve` says
-- true; what was taken up in another way costs nobody's turn. Answers how many those were.
local function serve_in_turn(turns, prefix, has_room, goes_on, serve)
  local idle, passed = 0, 0
  while goes_on() and passed < maxPassedOver and idle < call('LLEN', turns) do
    local share = call('LPOP', turns)
    local first = has_room(share) and call('ZPOPMIN', prefix .. share)[1]
    if first and not serve(first, share) then passed = passed + 1 end
    idle = first and 0 or idle + 1
    if call('EXISTS', prefix .. share) == 1 then call('RPUSH', turns, share) end
  end
  return passed
end
