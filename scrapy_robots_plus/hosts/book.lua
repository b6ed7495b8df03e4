-- What hosts/book.py says, where it is explained, for an entry that Redis keeps.
-- KEYS[1]: the entry of one host. ARGV: the event, its arguments in order, '1' if the caller knows that
-- there is an entry, and at last the time in seconds, or '' for the time of the server.
-- Returns the wait and the moment of "ask"; '' for no moment.

local LEAST_WAIT, LATE, REMEMBERED, LEAST_SILENCE = 0.001, 2, 60, 1

local event, is_known, now = ARGV[1], ARGV[#ARGV - 1] == '1', tonumber(ARGV[#ARGV])
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local e = {
  last = '', next = 0, lag = 0, virtual = 0, left_by = 0, delay = 0,
  first = math.huge, first_at = 0, paused = 0, lost_at = -math.huge,
}
local saved = redis.call('GET', KEYS[1])
if saved then e = cmsgpack.unpack(saved) end
if not e.next then
  return redis.error_reply('ERR the key ' .. KEYS[1] .. ' is of an older scrapy-robots-plus: end the crawls of that '
    .. 'version, then delete it, or wait a minute')
end

-- The server has lost the entry, or was started again, maybe with an older one: nobody knows who has
-- just sent something.
local told = redis.pcall('INFO', 'server')
local run = type(told) == 'string' and string.match(told, 'run_id:(%w+)') or ''
if saved and e.run ~= run or not saved and is_known then e.lost_at = now end

-- The clock was set back, or a replica with a clock of its own has taken over: nothing is as far
-- ahead as it seems.
local back = math.max(0, (e.written or now) - now)
for _, name in ipairs({'next', 'virtual', 'left_by', 'first', 'first_at', 'paused', 'lost_at'}) do e[name] = e[name] - back end
e.run, e.written = run, now

local wait, moment = 0, nil
local events = {}

function events.ask(who, delay, patience, booked)
  delay, moment = tonumber(delay), tonumber(booked)
  if not moment or moment >= e.next then
    local is_alone = e.next <= e.virtual + e.delay and e.first == math.huge
    if is_alone and e.last == who or now - e.lag > e.next then
      e.virtual, e.lag, e.next = e.virtual + e.lag, 0, now
    end
    moment = e.next
    e.next = e.next + delay
  end
  e.paused = math.max(e.paused, e.lost_at + math.max(delay, LEAST_SILENCE))
  local free = e.paused
  if e.last ~= '' and e.last ~= who then free = math.max(free, e.left_by + math.max(delay, e.delay)) end
  local due = moment + e.lag
  if now < due then
    wait = math.max(due - now, LEAST_WAIT)
  elseif e.first < moment and now < e.first_at + LATE then
    wait = math.max(math.min(math.max(e.first_at - now, 0) + delay, e.first_at + LATE - now), LEAST_WAIT)
  elseif now < free then
    wait = free - now
    if e.left_by > now then wait = math.min(wait, math.max(0.02, math.min(delay / 10, 0.5))) end
    wait = math.max(wait, LEAST_WAIT)
    e.first, e.first_at = moment, now + wait
  else
    if e.first <= moment then e.first = math.huge end
    e.last, e.delay, e.left_by, e.virtual = who, delay, now + patience, math.max(e.virtual, moment)
    e.lag, moment = now - e.virtual, nil
  end
end

function events.left(who, ago, delay)
  local at = now - ago
  delay = tonumber(delay)
  if e.last ~= who then
    if at <= e.left_by then
      e.paused = math.max(e.paused, at + delay)
      return
    end
    if e.last ~= '' then e.paused = math.max(e.paused, e.left_by + math.max(delay, e.delay)) end
    e.last, e.delay = who, delay
    e.virtual = math.max(e.virtual, math.min(at, now) - e.lag)
  elseif at < e.virtual + e.lag - delay / 2 then
    return
  end
  e.left_by = at
end

function events.unused(who, ago, delay, booked)
  booked = tonumber(booked)
  if not booked then
    if e.last ~= who then return end
    e.left_by = math.min(e.left_by, now - math.min(ago, e.delay))
  end
  if booked == e.first then e.first = math.huge end
  if booked and booked + delay == e.next then
    e.next = booked
  else
    e.lag = e.lag - delay
  end
end

function events.leave_alone(seconds) e.paused = math.max(e.paused, now + seconds) end

events[event](unpack(ARGV, 2, #ARGV - 2))

local left = e.last ~= '' and e.left_by + math.max(REMEMBERED, e.delay) or 0
local useful = math.ceil((math.max(e.next + e.lag, e.paused, left, e.lost_at + REMEMBERED) - now) * 1000)
if useful > 0 then
  redis.call('SET', KEYS[1], cmsgpack.pack(e), 'PX', useful)
else
  redis.call('DEL', KEYS[1])
end
return {string.format('%.17g', wait), moment and string.format('%.17g', moment) or ''}
