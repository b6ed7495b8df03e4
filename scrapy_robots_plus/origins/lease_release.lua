-- Gives up a lease that is still held: KEYS[1] lease, ARGV[1] token of the holder.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
