-- Removes up to 1000 hosts with their requests, and in the end all the rest.
--
-- Returns whether there is more.

for _, set in ipairs({DUE, NEW}) do
  local hosts = call('ZRANGE', set, 0, 999)
  if #hosts > 0 then
    for _, host in ipairs(hosts) do call('UNLINK', requests_of(host)) end
    call('ZREM', set, unpack(hosts))
    return 1
  end
end
for _, worker in ipairs(call('ZRANGE', WORKERS, 0, -1)) do call('UNLINK', out_of(worker)) end
call('UNLINK', PACE, IDLE, WORKERS, PUSHED, TAKEN, ASIDE, CLOCK)
return 0
