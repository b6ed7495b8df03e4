-- Stands before each of the scripts: the keys, the time, and where a host belongs.
--
-- KEYS[1] ends in "due"; all other keys begin as it does, so that they share a hash slot.
-- A host with requests is in one of two sorted sets: DUE if its pace is known, NEW if not. Its score
-- is when it may be asked next, in milliseconds by the clock of the queue. A host that is held is in DUE
-- with the score +inf: one request to it is under way, and nobody knows yet when the next may follow.

local call = redis.call
local base = string.sub(KEYS[1], 1, -4)
local DUE, NEW, PACE, IDLE = base .. 'due', base .. 'new', base .. 'pace', base .. 'idle'
local WORKERS, PUSHED, TAKEN = base .. 'workers', base .. 'pushed', base .. 'taken'
local ASIDE, CLOCK = base .. 'aside', base .. 'clock'
local UNKNOWN = -1
local REMEMBERED = 3600000 -- for so long after its last request the pace of a host is kept

local NOTED_EVERY = 1000 -- the time is written down at most so often

-- A server that is out of memory refuses only scripts that have not written yet. What makes room
-- must get through.
local function write_even_if_full() call('DEL', KEYS[1] .. ':none') end

-- The clock of the queue is the server's, but never goes back: else all would wait for as long as
-- that was set back, or as the clock of a replica is behind which takes over. CLOCK holds when it
-- was last written, and by how much the queue's clock is ahead of the server's.

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

local function note_time()
  local was_set_back = now() > servers + ahead
  if not was_set_back and now() < noted + NOTED_EVERY then return end
  write_even_if_full()
  call('SET', CLOCK, string.format('%.0f %.0f', now(), now() - servers))
end

-- A sorted set, the most urgent first.
local function requests_of(host) return base .. 'host:' .. host end
local function out_of(worker) return base .. 'out:' .. worker end

-- A pace: the delay, when the next request may go, and which request holds the host

local function read_pace(text)
  if not text then return {delay = UNKNOWN, next = 0, holder = ''} end
  local delay, next, holder = string.match(text, '^(%S+) (%S+) (%S*)$')
  return {delay = tonumber(delay), next = tonumber(next), holder = holder}
end

local function written_pace(pace)
  return string.format('%.0f %.0f %s', pace.delay, pace.next, pace.holder)
end

local function pace_of(host) return read_pace(call('HGET', PACE, host)) end

local function forget_later(host, pace)
  call('ZADD', IDLE, math.max(now(), pace.next) + REMEMBERED, host)
end

-- Puts a host that is not held where it belongs
local function place(host, pace)
  if call('ZCARD', requests_of(host)) == 0 then
    call('ZREM', DUE, host)
    call('ZREM', NEW, host)
    forget_later(host, pace)
  elseif pace.delay == UNKNOWN then
    call('ZREM', DUE, host)
    call('ZADD', NEW, math.max(now(), pace.next), host)
  else
    call('ZREM', NEW, host)
    call('ZADD', DUE, math.max(now(), pace.next), host)
  end
end

-- Writes a pace that has changed
local function settle(host, pace)
  call('HSET', PACE, host, written_pace(pace))
  if pace.holder == '' then
    place(host, pace)
  else
    call('ZREM', NEW, host)
    call('ZADD', DUE, '+inf', host)
  end
end

local function release(host, id, left_by)
  local pace = pace_of(host)
  if pace.holder ~= id then return end
  pace.holder = ''
  if left_by then pace.next = math.max(pace.next, left_by + math.max(pace.delay, 0)) end
  settle(host, pace)
end

-- Adds a request to those of its host; whether it may be due at once
local function add(host, score, member)
  local requests = requests_of(host)
  call('ZADD', requests, score, member)
  if call('ZCARD', requests) > 1 then return false end
  local pace = pace_of(host)
  if pace.holder == '' then
    call('ZADD', pace.delay == UNKNOWN and NEW or DUE, 'NX', math.max(now(), pace.next), host)
  end
  return pace.holder == '' and pace.next <= now()
end

-- A request under way waits again, where it was. It left its worker by then, if it did at all
local function give_back(worker, id, packed, left_by)
  local host, score, member = cmsgpack.unpack(packed)
  call('HDEL', out_of(worker), id)
  if member ~= '' then
    add(host, score, member)
    call('DECR', TAKEN)
  end
  release(host, id, left_by)
end

-- Up to 100 requests of a worker; whether it has more
local function give_back_all(worker, left_by)
  local found = call('HRANDFIELD', out_of(worker), 100, 'WITHVALUES')
  for i = 1, #found, 2 do give_back(worker, found[i], found[i + 1], left_by) end
  if call('EXISTS', out_of(worker)) == 1 then return true end
  call('ZREM', WORKERS, worker)
  return false
end
