-- Removes a worker: the requests that it has not dealt with wait again.
--
-- ARGV: worker
-- Returns 1 if it has more to give back, else 0.

write_even_if_full()
look()

if give_back_all(ARGV[1]) then return 1 end
if call('ZCARD', WORKERS) <= 1 then call('DEL', base .. 'terms') end
expire()
return 0
