-- All that a worker says and asks in one go.
--
-- ARGV: worker, era, lifetime, renew, reap, most, unknown, reports...
--   era: the one in which the worker was last alive, '' if it has not been
--   lifetime: milliseconds for which a worker is alive that renews
--   renew: 1 if the worker is alive from now on
--   reap: 1 to give back what a dead worker has
--   most: how many requests it takes of hosts whose pace is known
--   unknown: how many of other hosts, one each
--   reports: what has become of requests, see below
-- Returns whether there is more to give back, to forget or to find; 1 if the worker was forgotten, 2 if the
-- server has lost data since the worker was last alive; the era; milliseconds since something was lost, and
-- whether there was anything; milliseconds until a host is due (-1: nobody knows, or it can take no more);
-- how many requests wait (-1: it can take no more); and two strings of each request: 'id holds delay host', holds
-- being 1 if it holds the host, and its data. An answer of fewer, longer strings is read sooner.

local worker, known = ARGV[1], ARGV[2]
lifetime = tonumber(ARGV[3])
local renew, reap = ARGV[4] == '1', ARGV[5] == '1'
local most, unknown = tonumber(ARGV[6]), tonumber(ARGV[7])
look(true)
local out, this_era = out_of(worker), string.format('%.0f', era.born)

-- Either the server has lost what it had been told, and maybe requests that the worker has. It gets nothing
-- before it has heard of that, and compares.
local is_from_before = known ~= '' and known ~= this_era
if is_from_before then
  renew, reap, most, unknown = true, false, 0, 0
  begin_to_leave_alone()
end

-- Or it was taken for dead, so that others have its requests. What it says of hosts is true, its
-- ids mean nothing.
local forgotten = known == this_era and not call('ZSCORE', WORKERS, worker)
if forgotten then renew, reap, most, unknown = false, false, 0, 0 end

note_time()
if renew or #ARGV > 7 then write_even_if_full() end

local ended = {}
local at = 8
local function arguments(number)
  at = at + number + 1
  return unpack(ARGV, at - number, at - 1)
end

local function let_go(pace, id)
  if pace.holder == hold_of(worker, id) and not forgotten then pace.holder = '' end
end

local reports = {
  -- id: it was dealt with, and holds nothing
  ended = function()
    local id = arguments(1)
    ended[#ended + 1] = id
    local packed = is_from_before and call('HGET', out, id) -- that it has left may be forgotten
    if packed then release((cmsgpack.unpack(packed)), hold_of(worker, id)) end
  end,
  -- id, host: it was dealt with, and may hold the host
  freed = function()
    local id, host = arguments(2)
    ended[#ended + 1] = id
    if not forgotten then release(host, hold_of(worker, id)) end
  end,
  -- id: it was not sent
  back = function()
    local id = arguments(1)
    local packed = call('HGET', out, id)
    if packed then give_back(worker, id, packed) end
  end,
  -- id: it cannot be read
  aside = function()
    local id = arguments(1)
    local packed = call('HGET', out, id)
    if not packed then return end
    local host, _, member = cmsgpack.unpack(packed)
    call('RPUSH', ASIDE, string.sub(member, 9))
    call('HDEL', out, id)
    release(host, hold_of(worker, id))
  end,
  -- id, host, delay: what is asked of requests to the host
  pace = function()
    local id, host, delay = arguments(3)
    local pace = pace_of(host)
    pace.delay = tonumber(delay)
    if pace.delay == 0 then let_go(pace, id) end
    settle(host, pace)
  end,
  -- id, host, ago, delay: the request was sent
  left = function()
    local id, host, ago, delay = arguments(4)
    local pace = pace_of(host)
    pace.delay = tonumber(delay)
    pace.next = math.max(pace.next, now() - tonumber(ago) + pace.delay)
    let_go(pace, id)
    settle(host, pace)
  end,
  -- host, pause: nothing is to be sent to the host for so long
  pause = function()
    local host, pause = arguments(2)
    local pace = pace_of(host)
    pace.next = math.max(pace.next, now() + tonumber(pause))
    settle(host, pace)
  end,
}
while at <= #ARGV do reports[ARGV[at]]() end
for i = 1, #ended, 1000 do
  call('HDEL', out, unpack(ended, i, math.min(i + 999, #ended)))
end

-- Who is alive

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

-- Hosts that nobody holds any more; all of them, unless they are very many
local function look_at_held_hosts()
  local number = call('ZCOUNT', DUE, '+inf', '+inf')
  local first = number > AT_ONCE and now() % number or 0
  local hosts = call('ZRANGEBYSCORE', DUE, '+inf', '+inf', 'LIMIT', first, AT_ONCE)
  for _, host in ipairs(hosts) do look_at(host) end
end

-- What there is of the queue, in whatever keys
local function look_for_the_lost()
  local pattern = string.gsub(base, '[%[%]%*%?\\]', '\\%0') .. '*'
  local cursor, keys = unpack(call('SCAN', era.cursor, 'MATCH', pattern, 'COUNT', AT_ONCE))
  local hosts, outs = requests_of(''), out_of('')
  for _, key in ipairs(keys) do
    if string.sub(key, 1, #hosts) == hosts then look_at(string.sub(key, #hosts + 1)) end
    if string.sub(key, 1, #outs) == outs then
      call('ZADD', WORKERS, 'NX', now() + lifetime, string.sub(key, #outs + 1))
    end
  end
  if cursor == '0' then
    cursor = '-'
    local number = 0
    for _, set in ipairs({DUE, NEW}) do
      for _, host in ipairs(call('ZRANGE', set, 0, -1)) do number = number + call('ZCARD', requests_of(host)) end
    end
    call('SET', WAITING, number)
  end
  era.cursor = cursor
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
    give_back_all(dead[1], tonumber(dead[2]))
    more = true
  end
end

-- What it gets

local taken, number, out_args = {}, 0, {}

local function hand_out(host, member, score, pace)
  local id = string.format('%.0f', (struct.unpack('>I8', member)))
  local holds = pace.delay ~= 0
  if holds then pace.holder = hold_of(worker, id) end
  out_args[#out_args + 1] = id
  out_args[#out_args + 1] = cmsgpack.pack(host, score, member)
  taken[#taken + 1] = string.format('%s %d %.0f ', id, holds and 1 or 0, pace.delay) .. host
  taken[#taken + 1] = string.sub(member, 9)
  number = number + 1
end

local changes -- of one round, so that each kind is one command
local function change(kind, ...)
  for _, each in ipairs({...}) do table.insert(changes[kind], each) end
end

local function write_changes()
  if #changes.due > 0 then call('ZADD', DUE, unpack(changes.due)) end
  if #changes.pace > 0 then call('HSET', PACE, unpack(changes.pace)) end
  if #changes.no_longer_due > 0 then call('ZREM', DUE, unpack(changes.no_longer_due)) end
  if #changes.no_longer_new > 0 then call('ZREM', NEW, unpack(changes.no_longer_new)) end
  if #changes.idle > 0 then call('ZADD', IDLE, unpack(changes.idle)) end
end

local function hold(host, pace)
  change('due', '+inf', host)
  change('pace', host, written_pace(pace))
end

local function take_from(host, pace, share)
  local number = pace.delay == 0 and share or 1
  local got = call('ZPOPMIN', requests_of(host), number)
  for i = 1, #got, 2 do hand_out(host, got[i], got[i + 1], pace) end
  if #got > 0 and pace.delay ~= 0 then
    hold(host, pace)
  elseif call('EXISTS', requests_of(host)) == 1 then
    change('due', now(), host)
  else
    change('no_longer_due', host)
    change('idle', math.max(now(), next_of(pace)) + REMEMBERED, host)
  end
end

-- Whether its score was right
local function is_due(set, host, pace)
  local is_right = pace.holder == '' and next_of(pace) <= now() and (pace.delay == UNKNOWN) == (set == NEW)
  if not is_right then settle(host, pace) end
  return is_right
end

local function take_round(set, room)
  local hosts = call('ZRANGEBYSCORE', set, '-inf', now(), 'LIMIT', 0, room)
  if #hosts == 0 then return false end
  changes = {due = {}, pace = {}, no_longer_due = {}, no_longer_new = {}, idle = {}}
  local paces = call('HMGET', PACE, unpack(hosts))
  local before = number
  for i, host in ipairs(hosts) do
    local pace = read_pace(paces[i])
    if is_due(set, host, pace) then
      if set == NEW then change('no_longer_new', host) end
      local share = math.ceil((room - (number - before)) / (#hosts - i + 1))
      take_from(host, pace, share)
    end
  end
  write_changes()
  return true
end

local function take(set, most)
  local before = number
  for _ = 1, 20 do -- a host may have had no requests left, or not have been due
    local room = most - (number - before)
    if room < 1 or not take_round(set, room) then return end
  end
end

local wait, are_waiting = -1, -1
if unknown > 0 then take(NEW, unknown) end
local of_unknown = number
if most > 0 then take(DUE, most) end
if number > 0 then call('DECRBY', WAITING, number) end
if number - of_unknown < most or most == 0 then
  wait = math.min(until_first(DUE), unknown > 0 and until_first(NEW) or math.huge)
  if wait == math.huge then wait = -1 end
  are_waiting = waiting()
end
for i = 1, #out_args, 2000 do
  call('HSET', out, unpack(out_args, i, math.min(i + 1999, #out_args)))
end

local status = is_from_before and 2 or forgotten and 1 or 0
local ago = now() - era.since
return {more and 1 or 0, status, this_era, ago, era.is_lost, wait, are_waiting, unpack(taken)}
