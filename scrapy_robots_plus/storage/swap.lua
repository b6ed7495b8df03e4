-- Replaces the value of a key if it still begins as expected; or, with one argument, only reads it.
--
-- KEYS[1]: the key
-- ARGV: length, expected, new, milliseconds, though_full
--   length: how many bytes of the value to return, 0 for all
--   expected: how the value must begin, '' for none or one of another type
--   new: '' deletes the key
--   milliseconds: for how long the new value is kept
--   though_full: 1 to write even if the server is full
-- Returns 1 if the value was replaced. Else the value, '' if there is none or one of another type; the time; which
-- process of the server answers.
local function beginning(most)
  local value = redis.pcall('GETRANGE', KEYS[1], 0, most - 1)
  return type(value) == 'string' and value or ''
end

if ARGV[2] and beginning(#ARGV[2]) == ARGV[2] then
  if ARGV[3] == '' then
    redis.call('DEL', KEYS[1])
  else
    -- A full server refuses only scripts that have not written yet
    if ARGV[5] == '1' then redis.call('DEL', KEYS[1] .. ':none') end
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  end
  return 1
end
local told = redis.pcall('INFO', 'server') -- the user may lack the right to ask
return {beginning(ARGV[1]), redis.call('TIME'), type(told) == 'string' and string.match(told, 'run_id:(%w+)') or ''}
