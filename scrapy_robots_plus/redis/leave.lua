-- A worker leaves: what it has not dealt with waits again.
--
-- ARGV: worker
-- Returns whether it has more.

write_even_if_full()
look()

if give_back_all(ARGV[1]) then return 1 end
if call('ZCARD', WORKERS) <= 1 then call('DEL', base .. 'terms') end
expire()
return 0
