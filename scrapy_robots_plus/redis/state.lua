-- ARGV: worker
-- Returns how many requests wait, how many are under way at other workers, how many other workers are
-- alive, how many requests were lost with their keys, milliseconds until the first host may be asked (-1:
-- nobody knows), and how many hosts are held.

look()
local under_way, alive = 0, 0
local workers = call('ZRANGE', WORKERS, 0, -1, 'WITHSCORES')
for i = 1, #workers, 2 do
  if workers[i] ~= ARGV[1] and workers[i] ~= MARK then
    under_way = under_way + call('HLEN', out_of(workers[i]))
    if tonumber(workers[i + 1]) >= now() then alive = alive + 1 end
  end
end
local are_waiting = waiting()
local lost, first = tonumber(call('GET', LOST) or 0), math.min(until_first(DUE), until_first(NEW))
local held = call('ZCOUNT', DUE, '+inf', '+inf')
return {are_waiting, under_way, alive, lost, first == math.huge and -1 or first, held}
