-- KEYS[1]: a key. ARGV[1]: how many octets of its value at most; all if it is 0.
-- Returns the value, '' if there is none or one of another type; the time; which process of the server answers.
local value, told = redis.pcall('GETRANGE', KEYS[1], 0, ARGV[1] - 1), redis.pcall('INFO', 'server')
local process = type(told) == 'string' and string.match(told, 'run_id:(%w+)') or '' -- the user may not ask
return {type(value) == 'string' and value or '', redis.call('TIME'), process}
