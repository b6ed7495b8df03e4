-- KEYS[1]: a key. ARGV: how many octets of its value are of interest, 0 for all; and unless it is only looked at,
-- how its value begins, '' for none or one of another type; the new value, '' to delete it; milliseconds for
-- which that is kept; 1 if it is written though the server is full. Returns 1 if it was changed. Else the value, ''
-- if there is none or one of another type; the time; which process of the server answers.
local function beginning(most)
  local value = redis.pcall('GETRANGE', KEYS[1], 0, most - 1)
  return type(value) == 'string' and value or ''
end

if ARGV[2] and beginning(#ARGV[2]) == ARGV[2] then
  if ARGV[3] == '' then
    redis.call('DEL', KEYS[1])
  else
    -- Only scripts that have not written yet are refused
    if ARGV[5] == '1' then redis.call('DEL', KEYS[1] .. ':none') end
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  end
  return 1
end
local told = redis.pcall('INFO', 'server') -- the user may not ask
return {beginning(ARGV[1]), redis.call('TIME'), type(told) == 'string' and string.match(told, 'run_id:(%w+)') or ''}
