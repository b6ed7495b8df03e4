-- A worker leaves: what it has not dealt with waits again.
--
-- ARGV: worker
-- Returns whether it has more.

look()
write_even_if_full()

if give_back_all(ARGV[1]) then return 1 end
expire()
return 0
