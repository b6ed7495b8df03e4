-- Takes a worker's reports, and hands requests out to it, in one go.
--
-- ARGV: worker, era, lifetime, renew, reap, most, unknown, reports...
--   era: the one in which the worker was last alive, '' if it has not been
--   lifetime: milliseconds for which a worker that renews is alive
--   renew: 1 if the worker is alive from now on
--   reap: 1 to give back the requests of a dead worker
--   most: how many requests it takes to hosts whose pace is known
--   unknown: how many to other hosts, one each
--   reports: five arguments each: what has happened ('ended', 'freed', 'back', 'pace', 'left', 'pause', see
--   below), id, host, how many milliseconds ago, and a delay in milliseconds, as far as they matter
-- Returns whether there is more to give back, to forget or to find; 1 if the worker was forgotten, 2 if the
-- server has lost data since the worker was last alive, else 0; the era; milliseconds until a host is due (-1:
-- unknown; 0: it got all it asked for); how many requests wait (-1: it got all it asked for); and two strings
-- for each request: 'id holds delay host', where holds is 1 if it holds the host, and its data. An answer of
-- fewer, longer strings is parsed faster.

local worker, known = ARGV[1], ARGV[2]
lifetime = tonumber(ARGV[3])
local renew, reap = ARGV[4] == '1', ARGV[5] == '1'
local most, unknown = tonumber(ARGV[6]), tonumber(ARGV[7])
write_even_if_full()
look(true)
local out, this_era = out_of(worker), string.format('%.0f', era.born)

-- The server has lost what it was told, and maybe requests that the worker has. The worker gets nothing before it
-- has heard of that and compared.
local is_from_before = known ~= '' and known ~= this_era
if is_from_before then
  renew, reap, most, unknown = true, false, 0, 0
  era.since, era.is_lost = now(), 1 -- hosts are left alone from now on
  write_era()
end

-- The worker was taken for dead, so that others have its requests. What it reports of hosts is still true, but
-- its ids mean nothing.
local forgotten = known == this_era and not is_known(worker)
if forgotten then renew, reap, most, unknown = false, false, 0, 0 end

-- The time of the queue is noted once a second, and when the server's clock was set back
if now() > servers + ahead or now() >= noted + 1000 then
  call('SET', CLOCK, string.format('%.0f %.0f', now(), now() - servers))
end

local ended = {}

-- The request was dealt with. It may still hold the host ('freed'), or holds nothing ('ended')
local function end_request(what, id, host)
  ended[#ended + 1] = id
  local packed = is_from_before and call('HGET', out, id) -- its departure may be forgotten
  if packed then host = cmsgpack.unpack(packed) end
  if (packed or what == 'freed') and not forgotten then release(host, hold_of(worker, id)) end
end

-- The delay of the host is known ('pace'), and the request has left, too ('left'); or nothing may be sent to the host
-- for as long as the delay says ('pause')
local function note_pace(what, id, host, ago, delay)
  local pace = pace_of(host)
  if what ~= 'pause' then pace.delay = delay end
  if what ~= 'pace' then pace.next = math.max(pace.next, now() - ago + delay) end
  local is_free = what == 'left' or what == 'pace' and delay == 0
  if is_free and pace.holder == hold_of(worker, id) and not forgotten then pace.holder = '' end
  settle(host, pace)
end

for i = 8, #ARGV, 5 do
  local what, id, host, ago, delay = unpack(ARGV, i, i + 4)
  if what == 'ended' or what == 'freed' then
    end_request(what, id, host)
  elseif what == 'back' then -- the request was not sent
    local packed = call('HGET', out, id)
    if packed then give_back(worker, id, packed) end
  else
    note_pace(what, id, host, tonumber(ago), tonumber(delay))
  end
end
for i = 1, #ended, 1000 do call('HDEL', out, unpack(ended, i, math.min(i + 999, #ended))) end

-- Which workers are alive, and what is known of hosts

local function forget_idle_hosts()
  local hosts = call('ZRANGEBYSCORE', IDLE, '-inf', now(), 'LIMIT', 0, 1000)
  for _, host in ipairs(hosts) do
    call('ZREM', IDLE, host)
    if not call('ZSCORE', DUE, host) and not call('ZSCORE', NEW, host) then
      call('HDEL', PACE, host)
    end
  end
  return #hosts == 1000
end

-- Releases hosts that nobody holds any more. Looks at all that are held, unless they are very many
local function look_at_held_hosts()
  local number = call('ZCOUNT', DUE, '+inf', '+inf')
  local first = number > AT_ONCE and now() % number or 0
  local hosts = call('ZRANGEBYSCORE', DUE, '+inf', '+inf', 'LIMIT', first, AT_ONCE)
  for _, host in ipairs(hosts) do look_at(host) end
end

-- Looks for parts of the queue among all keys. Most of the keys may belong to somebody else
local function look_for_the_lost()
  local pattern = string.gsub(base, '[%[%]%*%?\\]', '\\%0') .. '*'
  local hosts, outs = requests_of(''), out_of('')
  local looks, found = 0, 0
  repeat
    local cursor, keys = unpack(call('SCAN', era.cursor, 'MATCH', pattern, 'COUNT', AT_ONCE))
    for _, key in ipairs(keys) do
      if string.sub(key, 1, #hosts) == hosts then look_at(string.sub(key, #hosts + 1)) end
      if string.sub(key, 1, #outs) == outs then
        call('ZADD', WORKERS, 'NX', now() + lifetime, string.sub(key, #outs + 1))
      end
    end
    era.cursor, looks, found = cursor, looks + 1, found + #keys
  until cursor == '0' or looks == 5 or found >= AT_ONCE
  if era.cursor == '0' then era.cursor = '-' end
  write_era()
end

local more = false
if renew then
  local is_new = call('ZADD', WORKERS, now() + lifetime, worker) == 1
  if is_new then persist() end -- see expire()
  more = forget_idle_hosts()
end
if era.cursor ~= '-' then
  look_for_the_lost()
  more = more or era.cursor ~= '-'
end
if reap then
  look_at_held_hosts()
  local dead = call('ZRANGEBYSCORE', WORKERS, '-inf', '(' .. now(), 'WITHSCORES', 'LIMIT', 0, 1)
  if #dead > 0 then
    local left_by = math.abs(dead[2])
    call('ZADD', WORKERS, -left_by, dead[1])
    give_back_all(dead[1], left_by)
    more = true
  end
end

-- What the worker gets

local taken, number, handed_out = {}, 0, {}

local function hand_out(host, member, score, pace)
  local id = string.format('%.0f', (struct.unpack('>I8', member)))
  if pace.delay ~= 0 then pace.holder = hold_of(worker, id) end
  handed_out[#handed_out + 1] = id
  handed_out[#handed_out + 1] = cmsgpack.pack(host, score, member)
  taken[#taken + 1] = string.format('%s %d %.0f ', id, pace.delay ~= 0 and 1 or 0, pace.delay) .. host
  taken[#taken + 1] = string.sub(member, 9)
  number = number + 1
end

local function take_from(set, host, share)
  local pace = pace_of(host)
  local is_due = pace.holder == '' and next_of(pace) <= now() and (pace.delay == UNKNOWN) == (set == NEW)
  if is_due then -- its score was right
    local got = call('ZPOPMIN', requests_of(host), pace.delay == 0 and share or 1)
    for i = 1, #got, 2 do hand_out(host, got[i], got[i + 1], pace) end
  end
  settle(host, pace)
end

local function take(set, most)
  local full = number + most
  for _ = 1, 20 do -- again, as hosts may have had no requests left, or not have been due
    local hosts = number < full and call('ZRANGEBYSCORE', set, '-inf', now(), 'LIMIT', 0, full - number) or {}
    if #hosts == 0 then return end
    for i, host in ipairs(hosts) do take_from(set, host, math.ceil((full - number) / (#hosts - i + 1))) end
  end
end

local wait, are_waiting = 0, -1
if unknown > 0 then take(NEW, unknown) end
local of_unknown = number
if most > 0 then take(DUE, most) end
if number > 0 then call('DECRBY', WAITING, number) end
if number - of_unknown < most or most == 0 then
  wait = math.min(until_first(DUE), unknown > 0 and until_first(NEW) or math.huge)
  if wait == math.huge then wait = -1 end
  are_waiting = waiting()
end
for i = 1, #handed_out, 2000 do call('HSET', out, unpack(handed_out, i, math.min(i + 1999, #handed_out))) end

local status = is_from_before and 2 or forgotten and 1 or 0
return {more and 1 or 0, status, this_era, wait, are_waiting, unpack(taken)}
