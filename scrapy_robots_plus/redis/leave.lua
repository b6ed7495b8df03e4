-- A worker leaves: what it has not dealt with waits again.
--
-- ARGV: worker
-- Returns how many requests were given back, and whether it has more.

look()
write_even_if_full()

local before = call('HLEN', out_of(ARGV[1]))
local more = give_back_all(ARGV[1])
if not more then expire() end
return {before - call('HLEN', out_of(ARGV[1])), more and 1 or 0}
