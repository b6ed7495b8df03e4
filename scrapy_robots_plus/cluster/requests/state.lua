-- ARGV: worker
-- Returns how many requests wait, how many are under way at other workers, and how many other
-- workers are alive.

local under_way, alive = 0, 0
local workers = call('ZRANGE', WORKERS, 0, -1, 'WITHSCORES')
for i = 1, #workers, 2 do
  if workers[i] ~= ARGV[1] then
    under_way = under_way + call('HLEN', out_of(workers[i]))
    if tonumber(workers[i + 1]) >= now() then alive = alive + 1 end
  end
end
local totals = call('MGET', PUSHED, TAKEN)
return {(totals[1] or 0) - (totals[2] or 0), under_way, alive}
