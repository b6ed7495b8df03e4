-- Precedes each of the scripts: the keys, the time, and where a host belongs.
--
-- KEYS[1] ends in "due"; all other keys begin as it does, so that they share a hash slot.
-- A host with requests is in one of two sorted sets: DUE if its pace is known, NEW if not. Its score
-- is when it may be asked next, in milliseconds by the clock of the queue. A host that is held is in DUE
-- with the score +inf: one request to it is under way, and it is not known yet when the next may follow.
-- Scores only say when to look at a host: its pace decides.

local call = redis.call
local base = string.sub(KEYS[1], 1, -4)
local DUE, NEW, PACE, IDLE = base .. 'due', base .. 'new', base .. 'pace', base .. 'idle'
local WORKERS, PUSHED, WAITING = base .. 'workers', base .. 'pushed', base .. 'waiting'
local ASIDE, CLOCK, LOST = base .. 'aside', base .. 'clock', base .. 'lost'
local MARK = '//mark' -- a member of DUE, NEW, WORKERS and PACE; no host has slashes in its name
local MARKS_SCORE = 9000000000000000 -- later than any time
local UNKNOWN = -1
local REMEMBERED = 3600000 -- how long the pace of a host is kept after its last request

-- A server that is out of memory refuses only scripts that have not written yet. Everything but new requests
-- must get through: that makes room.
local function write_even_if_full() call('DEL', KEYS[1] .. ':none') end

-- The clock of the queue is the server's, but never goes back. Otherwise all hosts would wait for as
-- long as the server's clock was set back, or is behind on a replica that takes over. CLOCK holds the
-- queue's time when it was last written, and by how much that was ahead of the server's.

local moment, servers, noted, ahead
local function now()
  if not moment then
    local time = call('TIME')
    servers = time[1] * 1000 + math.floor(time[2] / 1000)
    noted, ahead = string.match(call('GET', CLOCK) or '0 0', '^(%S+) (%S+)$')
    moment = math.max(servers + ahead, tonumber(noted))
  end
  return moment
end

-- Eras: how a loss of data is noticed. A server may come back with older data, evict keys, or be told to
-- delete some, without notice. So there is a mark in each of the four keys that everything depends on, and
-- the one in PACE says which process of the server wrote it. If a mark is missing, or the process is another
-- one, a new era begins: departures may have been forgotten, so each host is left alone for its delay once,
-- and hosts and workers that are no longer in their sets are looked for among all keys.
--
-- Workers know the era in which they were last alive. One from an earlier era may have sent something until
-- it comes, so hosts are left alone from then on. Workers come at least twice a second. So after a loss no
-- host is left alone for less than GRACE; if nothing was found at all, perhaps because the queue is new, for
-- no longer than that.

local GRACE = 1000
local lifetime = 60000 -- of a worker: how long one that may be alive has time to say so
local AT_ONCE = 1000 -- how many keys are looked at in one go

-- born, since: when the era began, and from when hosts are left alone, in milliseconds; is_lost: 1 if there
-- was anything before; cursor: how far keys were looked through, '-' if all were; run: the process of the server
local era

-- Which process of the server this is; '' if the user may not ask, which counts as the same
local function process()
  local told = redis.pcall('INFO', 'server')
  return type(told) == 'string' and string.match(told, 'run_id:(%w+)') or ''
end

local function write_era()
  local text = string.format('%.0f %.0f %d %s %s', era.born, era.since, era.is_lost, era.cursor, era.run)
  call('HSET', PACE, MARK, text)
end

local function begin_era()
  local is_lost = call('EXISTS', PACE, DUE, NEW, WORKERS) > 0 and 1 or 0
  local born = math.max(now(), (era.born or 0) + 1) -- never the same as the previous era's
  era = {born = born, since = now(), is_lost = is_lost, cursor = '0', run = process()}
  write_era()
  for _, worker in ipairs(call('ZRANGE', WORKERS, 0, -1)) do
    call('ZADD', WORKERS, 'GT', now() + lifetime, worker) -- it may have asked for a longer one
  end
  for _, set in ipairs({DUE, NEW, WORKERS}) do call('ZADD', set, MARKS_SCORE, MARK) end
end

-- Each script looks first whether the era has ended; at the process only if it may hand something out
local function look(hands_out)
  local born, since, is_lost, cursor, run =
    string.match(call('HGET', PACE, MARK) or '', '^(%S+) (%S+) (%d) (%S+) (%S*)$')
  era = {born = tonumber(born), since = tonumber(since), is_lost = tonumber(is_lost), cursor = cursor, run = run}
  for _, set in ipairs({DUE, NEW, WORKERS}) do
    if not call('ZSCORE', set, MARK) then return begin_era() end
  end
  if not run then return begin_era() end
  local this = hands_out and process() or ''
  if this == '' or this == run then return end
  if run ~= '' then return begin_era() end
  era.run = this
  write_era()
end

-- A sorted set of the requests that wait, the most urgent first
local function requests_of(host) return base .. 'host:' .. host end
local function out_of(worker) return base .. 'out:' .. worker end

-- The pace of a host: the delay, when the next request may go, and which request holds the host
local function pace_of(host)
  local text = call('HGET', PACE, host) or UNKNOWN .. ' 0 '
  local delay, next, holder = string.match(text, '^(%S+) (%S+) (%S*)$')
  return {delay = tonumber(delay), next = tonumber(next), holder = holder}
end

-- When the host may be asked next
local function next_of(pace)
  if pace.delay <= 0 then return pace.next end
  local alone = era.is_lost == 1 and math.max(pace.delay, GRACE) or math.min(pace.delay, GRACE)
  return math.max(pace.next, era.since + alone)
end

-- Which request of which worker holds a host
local function hold_of(worker, id) return id .. '@' .. worker end

-- Milliseconds until the first host of a set is due
local function until_first(set)
  local first = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if not first[1] or first[1] == MARK or first[2] == 'inf' then return math.huge end
  return math.max(0, tonumber(first[2]) - now())
end

-- Puts a host that is not held where it belongs
local function place(host, pace)
  local at, set, other = math.max(now(), next_of(pace)), DUE, NEW
  if pace.delay == UNKNOWN then set, other = NEW, DUE end
  call('ZREM', other, host)
  if call('EXISTS', requests_of(host)) == 1 then
    call('ZADD', set, at, host)
  else
    call('ZREM', set, host)
    call('ZADD', IDLE, at + REMEMBERED, host)
  end
end

-- Writes a pace that has changed, and puts its host where it belongs
local function settle(host, pace)
  call('HSET', PACE, host, string.format('%.0f %.0f %s', pace.delay, pace.next, pace.holder))
  if pace.holder == '' then
    place(host, pace)
  else
    call('ZREM', NEW, host)
    call('ZADD', DUE, '+inf', host)
  end
end

local function release(host, hold, left_by)
  local pace = pace_of(host)
  if pace.holder ~= hold then return end
  pace.holder = ''
  if left_by then pace.next = math.max(pace.next, left_by + math.max(pace.delay, 0)) end
  settle(host, pace)
end

-- Puts a host where it belongs. The worker that holds it may be gone, with its key: then the host is
-- released. If only the fact that the worker is alive was lost, it gets a lifetime to say so: it may be found
-- here before its key is.
local function look_at(host)
  local pace = pace_of(host)
  local id, worker = string.match(pace.holder, '^(.*)@(.*)$')
  if pace.holder ~= '' and not (id and call('HEXISTS', out_of(worker), id) == 1) then
    return release(host, pace.holder, now() + lifetime)
  end
  if id then call('ZADD', WORKERS, 'NX', now() + lifetime, worker) end
  settle(host, pace)
end

-- Adds a request to those of its host; returns whether it may be due at once
local function add(host, score, member)
  local requests = requests_of(host)
  call('ZADD', requests, score, member)
  if call('ZCARD', requests) > 1 then return false end
  local pace = pace_of(host)
  if pace.holder == '' then
    call('ZADD', pace.delay == UNKNOWN and NEW or DUE, 'NX', math.max(now(), next_of(pace)), host)
  end
  return pace.holder == '' and next_of(pace) <= now()
end

-- Lets a request under way wait again in its old place. left_by: when it left at the latest, if it did
local function give_back(worker, id, packed, left_by)
  local host, score, member = cmsgpack.unpack(packed)
  call('HDEL', out_of(worker), id)
  if member ~= '' then
    add(host, score, member)
    call('INCR', WAITING)
  end
  release(host, hold_of(worker, id), left_by)
end

-- False also for a worker taken for dead: its score is below 0 while its requests are given back, in pieces
local function is_known(worker) return tonumber(call('ZSCORE', WORKERS, worker) or -1) >= 0 end

-- Gives back some 100 requests of a worker, at most 512; returns whether it has more
local function give_back_all(worker, left_by)
  local cursor, found = '0', {}
  repeat
    cursor, found = unpack(call('HSCAN', out_of(worker), cursor, 'COUNT', 100))
  until #found > 0 or cursor == '0'
  for i = 1, #found, 2 do give_back(worker, found[i], found[i + 1], left_by) end
  if call('EXISTS', out_of(worker)) == 1 then return true end
  call('ZREM', WORKERS, worker)
  return false
end

-- How many requests wait. Keys may have been lost, so what is there decides, not what was counted
local function waiting()
  local counted = tonumber(call('GET', WAITING) or 0)
  local held = call('ZCOUNT', DUE, '+inf', '+inf')
  local free = call('ZCARD', DUE) - 1 - held + call('ZCARD', NEW) - 1
  if free > 0 or held > AT_ONCE then return math.max(1, counted) end
  local found = 0
  for _, host in ipairs(call('ZRANGEBYSCORE', DUE, '+inf', '+inf')) do
    found = found + call('ZCARD', requests_of(host))
  end
  -- More may be found. A new queue does not wait for that: looking through a large server takes minutes
  local may_be_found = era.is_lost == 1 or counted > found
  if may_be_found and era.cursor ~= '-' then return math.max(1, counted) end
  if counted ~= found then
    if counted > found then call('INCRBY', LOST, counted - found) end
    call('SET', WAITING, found)
  end
  return found
end

local EXPIRING = {DUE, NEW, WORKERS, PACE, IDLE, CLOCK, PUSHED, WAITING, base .. 'terms'}

-- Once nobody works here and nothing waits, lets all keys expire when the last host would be forgotten
local function expire()
  if call('ZCARD', WORKERS) > 1 or call('ZCARD', DUE) > 1 or call('ZCARD', NEW) > 1 then return end
  local last = call('ZREVRANGE', IDLE, 0, 0, 'WITHSCORES')
  local left = string.format('%.0f', #last == 0 and REMEMBERED or math.max(1, last[2] - now()))
  for _, key in ipairs(EXPIRING) do
    call('PEXPIRE', key, left)
  end
end

local function persist()
  for _, key in ipairs(EXPIRING) do call('PERSIST', key) end
end
