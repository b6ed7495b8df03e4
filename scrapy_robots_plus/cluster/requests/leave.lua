-- A worker leaves: what it has not dealt with waits again.
--
-- ARGV: worker
-- Returns how many requests were given back, and whether it has more.

write_even_if_full()
local before = call('HLEN', out_of(ARGV[1]))
local more = give_back_all(ARGV[1])
-- The queue was cleared, and nobody needs to know the time.
if call('EXISTS', DUE, NEW, PACE, IDLE, WORKERS) == 0 then call('DEL', CLOCK) end
return {before - call('HLEN', out_of(ARGV[1])), more and 1 or 0}
