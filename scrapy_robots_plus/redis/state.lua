-- The state of the queue, as one worker sees it.
--
-- ARGV: worker
-- Returns how many requests wait, how many are under way at other workers, how many other workers are
-- alive, and how many requests were lost with their keys.

write_even_if_full()
look()
local under_way, alive = 0, 0
local workers = call('ZRANGE', WORKERS, 0, -1, 'WITHSCORES')
for i = 1, #workers, 2 do
  if workers[i] ~= ARGV[1] and workers[i] ~= MARK then
    under_way = under_way + call('HLEN', out_of(workers[i]))
    if tonumber(workers[i + 1]) >= now() then alive = alive + 1 end
  end
end
return {waiting(), under_way, alive, tonumber(call('GET', LOST) or 0)}
