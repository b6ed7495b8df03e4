-- Adds requests.
--
-- KEYS[2]: the fingerprints that were seen, if any request has one
-- ARGV: host, score, data, fingerprint of each; the fingerprint is '' if it does not count
-- Returns a character for each: "-" it was seen before, "1" it may be due at once, "0" it waits

look()
local number = #ARGV / 4
local last = next_numbers(number)
local answers, seen = {}, 0
for i = 1, number do
  local host, score, data, fingerprint = unpack(ARGV, i * 4 - 3, i * 4)
  if fingerprint ~= '' and call('SADD', KEYS[2], fingerprint) == 0 then
    answers[i] = '-'
    seen = seen + 1
  else
    local member = struct.pack('>I8', last - number + i) .. data
    answers[i] = add(host, score, member) and '1' or '0'
  end
end
call('INCRBY', WAITING, number - seen)
return table.concat(answers)
