-- All that a worker says and asks in one go.
--
-- ARGV: worker, known, lifetime, reap, most, unknown, reports...
--   known: 1 if the worker has been alive before
--   lifetime: milliseconds for which the worker is alive from now on; 0: as before
--   reap: 1 to give back what a dead worker has
--   most: how many requests it takes of hosts whose pace is known
--   unknown: how many of other hosts, one each
--   reports: what has become of requests, see below
-- Returns whether there is more to give back or to forget, whether the worker was forgotten,
-- milliseconds until a host is due (-1: nobody knows, or it can take no more), how many requests wait
-- (-1: it can take no more), and id, host, '1' if it holds the host, delay, data of each request.

local worker, known, lifetime, reap = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4] == '1'
local most, unknown = tonumber(ARGV[5]), tonumber(ARGV[6])
local out = out_of(worker)

-- It was taken for dead, so that others have its requests; or the server has lost its data, and
-- counts requests from 1 again. What it says of hosts is true, its ids mean nothing, and it gets
-- nothing before it has heard of that.
local forgotten = known and not call('ZSCORE', WORKERS, worker)
if forgotten then lifetime, reap, most, unknown = 0, false, 0, 0 end

note_time()
if lifetime > 0 or #ARGV > 6 then write_even_if_full() end

local ended = {}
local at = 7
local function arguments(number)
  at = at + number + 1
  return unpack(ARGV, at - number, at - 1)
end

local function let_go(pace, id)
  if pace.holder == id and not forgotten then pace.holder = '' end
end

local reports = {
  -- id: it was dealt with, and holds nothing
  ended = function() ended[#ended + 1] = arguments(1) end,
  -- id, host: it was dealt with, and may hold the host
  freed = function()
    local id, host = arguments(2)
    ended[#ended + 1] = id
    if not forgotten then release(host, id) end
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
    release(host, id)
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

local more = false
if lifetime > 0 then
  local is_new = call('ZADD', WORKERS, now() + lifetime, worker) == 1
  if is_new then -- see leave.lua
    for _, key in ipairs({PACE, IDLE, CLOCK}) do call('PERSIST', key) end
  end
  more = forget_idle_hosts()
end
if reap then
  local dead = call('ZRANGEBYSCORE', WORKERS, '-inf', '(' .. now(), 'WITHSCORES', 'LIMIT', 0, 1)
  if #dead > 0 then
    give_back_all(dead[1], tonumber(dead[2]))
    more = true
  end
end

-- What it gets

local taken, out_args = {}, {}

local function hand_out(host, member, score, pace)
  local id = string.format('%.0f', (struct.unpack('>I8', member)))
  local holds = pace.delay ~= 0
  if holds then pace.holder = id end
  out_args[#out_args + 1] = id
  out_args[#out_args + 1] = cmsgpack.pack(host, score, member)
  local delay = string.format('%.0f', pace.delay)
  for _, each in ipairs({id, host, holds and '1' or '', delay, string.sub(member, 9)}) do
    taken[#taken + 1] = each
  end
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
  elseif #got < 2 * number then
    change('no_longer_due', host)
    change('idle', math.max(now(), pace.next) + REMEMBERED, host)
  else
    change('due', now(), host)
  end
end

local function take_round(set, room)
  local hosts = call('ZRANGEBYSCORE', set, '-inf', now(), 'LIMIT', 0, room)
  if #hosts == 0 then return false end
  changes = {due = {}, pace = {}, no_longer_due = {}, no_longer_new = {}, idle = {}}
  local paces = call('HMGET', PACE, unpack(hosts))
  local before = #taken / 5
  for i, host in ipairs(hosts) do
    if set == NEW then change('no_longer_new', host) end
    local share = math.ceil((room - (#taken / 5 - before)) / (#hosts - i + 1))
    take_from(host, read_pace(paces[i]), share)
  end
  write_changes()
  return true
end

local function take(set, most)
  local before = #taken / 5
  for _ = 1, 3 do -- a host may have had no requests left
    local room = most - (#taken / 5 - before)
    if room < 1 or not take_round(set, room) then return end
  end
end

local function until_first(set)
  local first = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if #first == 0 or first[2] == 'inf' then return math.huge end
  return math.max(0, tonumber(first[2]) - now())
end

local wait, waiting = -1, -1
if unknown > 0 then take(NEW, unknown) end
local of_unknown = #taken / 5
if most > 0 then take(DUE, most) end
local number = #taken / 5
if number > 0 then call('INCRBY', TAKEN, number) end
if number - of_unknown < most or most == 0 then
  wait = math.min(until_first(DUE), unknown > 0 and until_first(NEW) or math.huge)
  if wait == math.huge then wait = -1 end
  local totals = call('MGET', PUSHED, TAKEN)
  waiting = (totals[1] or 0) - (totals[2] or 0)
end
for i = 1, #out_args, 2000 do
  call('HSET', out, unpack(out_args, i, math.min(i + 1999, #out_args)))
end

return {more and 1 or 0, forgotten and 1 or 0, wait, waiting, unpack(taken)}
