-- Asks for the turn of a host, for a request that does not come from the queue.
--
-- ARGV: worker, id, host, delay
-- Returns 0 if the request may leave: it holds the host now. Else milliseconds after which to ask again with the same
-- id: it may hold the host already, so that workers nearer to the server do not always get it first. -1 if the worker
-- is not known to be alive: then nobody would take back its turn if it died.

local worker, id, host, delay = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
write_even_if_full()
look(true)
if not is_known(worker) then return -1 end
local pace = pace_of(host)
local hold = hold_of(worker, id)
if pace.delay < delay then pace.delay = delay end
local wait = math.max(0, next_of(pace) - now())
if pace.holder == hold then return wait end
if pace.holder ~= '' then return wait > 0 and wait or math.max(50, math.min(pace.delay, 500)) end
pace.holder = hold
call('HSET', out_of(worker), id, cmsgpack.pack(host, '', ''))
settle(host, pace)
return wait
