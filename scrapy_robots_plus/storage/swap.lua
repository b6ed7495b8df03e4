-- KEYS[1]: a key. ARGV: how its value begins, '' for none or one of another type; the new value, '' to delete
-- it; milliseconds for which that is kept. Returns 1, or 0 if the key has been changed by somebody else.
local value = redis.pcall('GETRANGE', KEYS[1], 0, #ARGV[1] - 1)
if (type(value) == 'string' and value or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
return 1
