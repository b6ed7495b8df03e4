-- Adds requests.
--
-- KEYS[2]: the set of fingerprints that were seen, if any request has one; or a queue of scrapy-redis
-- ARGV: 'move' to take the requests out of that queue, else ''; then host, score, data, fingerprint of each;
--   the fingerprint is '' if the request is to be added in any case
-- Returns a character for each: "-" it was seen before, or taken by another worker; "1" it may be due at once;
-- "0" it waits

look(true)

-- Each request has a number. None is ever used again, whatever is lost
local number = (#ARGV - 1) / 4
local last = call('INCRBY', PUSHED, number)
if last < era.born * 1000 then
  last = math.max(now(), era.born) * 1000 + number
  call('SET', PUSHED, string.format('%.0f', last))
end

local kind = ARGV[1] == 'move' and call('TYPE', KEYS[2]).ok

local function is_new(data, fingerprint)
  if kind == 'zset' then return call('ZREM', KEYS[2], data) == 1 end
  if kind == 'list' then return call('LINDEX', KEYS[2], -1) == data and call('RPOP', KEYS[2]) end
  return not kind and (fingerprint == '' or call('SADD', KEYS[2], fingerprint) == 1)
end

local answers, added = {}, 0
for i = 1, number do
  local host, score, data, fingerprint = unpack(ARGV, i * 4 - 2, i * 4 + 1)
  answers[i] = '-'
  if is_new(data, fingerprint) then
    added = added + 1
    answers[i] = add(host, score, struct.pack('>I8', last - number + i) .. data) and '1' or '0'
  end
end
call('INCRBY', WAITING, added)
return table.concat(answers)
