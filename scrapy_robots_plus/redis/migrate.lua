-- Moves requests from a queue of scrapy-redis, which the worker has read and which may have changed.
--
-- KEYS[2]: the list or sorted set
-- ARGV: host, score, data of each; in a list, the first is the last one, and so on
-- Returns how many were moved.

look()
local kind = call('TYPE', KEYS[2]).ok
local function take(data)
  if kind == 'zset' then return call('ZREM', KEYS[2], data) == 1 end
  if call('LINDEX', KEYS[2], -1) ~= data then return false end
  call('RPOP', KEYS[2])
  return true
end

local moved = 0
for i = 1, #ARGV, 3 do
  if take(ARGV[i + 2]) then
    local member = struct.pack('>I8', next_numbers(1)) .. ARGV[i + 2]
    add(ARGV[i], ARGV[i + 1], member)
    moved = moved + 1
  end
end
call('INCRBY', WAITING, moved)
return moved
