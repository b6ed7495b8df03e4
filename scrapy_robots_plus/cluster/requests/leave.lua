-- A worker leaves: what it has not dealt with waits again.
--
-- ARGV: worker
-- Returns how many requests were given back, and whether it has more.

write_even_if_full()

-- If nobody comes back, hosts are forgotten when they would have been
local function expire()
  if call('EXISTS', WORKERS, DUE, NEW) > 0 then return end
  local last = call('ZREVRANGE', IDLE, 0, 0, 'WITHSCORES')
  if #last == 0 then return end
  local left = string.format('%.0f', math.max(1, last[2] - now()))
  for _, key in ipairs({PACE, IDLE, CLOCK}) do call('PEXPIRE', key, left) end
end

local before = call('HLEN', out_of(ARGV[1]))
local more = give_back_all(ARGV[1])
if not more then expire() end
return {before - call('HLEN', out_of(ARGV[1])), more and 1 or 0}
