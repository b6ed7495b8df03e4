-- KEYS[1]: a record. ARGV: how it begins. Deletes it unless another one is there by now.
if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
