-- Removes all requests that wait, of up to 1000 hosts at once. What is known of hosts and workers stays: others
-- may have just sent something.
--
-- Returns 1 if there is more to remove, else 0.

write_even_if_full()
look()

for _, set in ipairs({DUE, NEW}) do
  local hosts = call('ZRANGEBYSCORE', set, '-inf', '(' .. MARKS_SCORE, 'LIMIT', 0, 1000)
  if #hosts > 0 then
    for _, host in ipairs(hosts) do
      call('UNLINK', requests_of(host))
      place(host, pace_of(host))
    end
    return 1
  end
end
for _, host in ipairs(call('ZRANGEBYSCORE', DUE, '+inf', '+inf')) do call('UNLINK', requests_of(host)) end
-- Requests under way are no longer given back. They hold their hosts as before.
for _, worker in ipairs(call('ZRANGE', WORKERS, 0, -1)) do
  local out = call('HGETALL', out_of(worker))
  for i = 1, #out, 2 do
    call('HSET', out_of(worker), out[i], cmsgpack.pack(cmsgpack.unpack(out[i + 1]), '', ''))
  end
end
call('UNLINK', WAITING, ASIDE, LOST)
expire()
return 0
