-- Shared: what somebody has done is kept by the write that it is, the newest of each shard.
local function remember(audit, now, act)
  if act ~= '' then call('XADD', audit, 'MAXLEN', maxActsKept, string.format('%.0f-*', now), 'a', act) end
end
