-- The same rules as in turns.py, where they are explained, for a state that Redis keeps.
-- KEYS[1]: the state of one host. ARGV: the call, its arguments in order, '1' if the caller knows that
-- there is a state, and at last the time in seconds, or '' for the time of the server.

local SHORTEST_WAIT, REMEMBERED, MOST_PASSED, LONGEST_WAIT = 0.001, 60, 3, 5
local LEAST_SILENCE = 1 -- as in in_file.py

local call = ARGV[1]
local now = tonumber(ARGV[#ARGV])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local saved = redis.call('GET', KEYS[1])
local departures, waiting, paused_until, written_at, run, lost_at = {}, {}, 0, now, nil, 0
if saved then
  departures, waiting, paused_until, written_at, run, lost_at = unpack(cmsgpack.unpack(saved))
end

-- The server has lost the state, or was started again, maybe with an older one: nobody knows who has
-- just sent something.
local told = redis.pcall('INFO', 'server')
local process = type(told) == 'string' and string.match(told, 'run_id:(%w+)') or ''
if saved and run ~= process or not saved and ARGV[#ARGV - 1] == '1' then lost_at = now end
-- departures: by ticket, {at, until, delay}. waiting: in order, {ticket, delay, due, comes, passed}.
local AT, UNTIL, KEEPS = 1, 2, 3
local TICKET, DELAY, DUE, COMES, PASSED = 1, 2, 3, 4, 5

-- The clock was set back, or a replica with a clock of its own has taken over: nothing is as far
-- ahead as it seems.
local back = written_at - now
if back > 0 then
  for _, each in pairs(departures) do each[AT], each[UNTIL] = each[AT] - back, each[UNTIL] - back end
  for _, each in ipairs(waiting) do each[DUE] = each[DUE] - back end
  paused_until, lost_at = paused_until - back, lost_at - back
end

local function worker_of(ticket)
  return string.match(ticket, '^(.*)/') or ''
end

local function grace(each)
  return math.min(math.max(each[DELAY] / 4, 0.05), 0.5) * 2 ^ each[PASSED]
end

local function remembered()
  local longest = REMEMBERED
  for _, each in pairs(departures) do longest = math.max(longest, each[KEEPS]) end
  for _, each in ipairs(waiting) do longest = math.max(longest, each[DELAY]) end
  return longest
end

local function forget()
  local longest, kept = remembered(), {}
  for ticket, each in pairs(departures) do
    if each[UNTIL] + longest > now then kept[ticket] = each end
  end
  departures = kept
end

local function left(ticket, ago, delay)
  local before, latest = departures[ticket], now - ago
  local at = before and before[AT] or now
  departures[ticket] = {ago >= 0 and latest or at, latest, delay}
  forget()
end

local function place_of(ticket, delay, comes)
  for place, each in ipairs(waiting) do
    if each[TICKET] == ticket then
      each[DELAY], each[COMES] = delay, comes
      return place
    end
  end
  table.insert(waiting, {ticket, delay, 0, comes, 0})
  return #waiting
end

local function free_at(ticket, delay)
  local worker, free = worker_of(ticket), paused_until
  for other, each in pairs(departures) do
    if worker_of(other) ~= worker then
      free = math.max(free, each[UNTIL] + math.max(each[KEEPS], delay))
    end
  end
  return free
end

local function go(mine, patience)
  local kept, is_before = {}, true
  for _, each in ipairs(waiting) do
    if each == mine then
      is_before = false
    elseif is_before then
      each[PASSED] = each[PASSED] + 1
      each[DUE] = now + math.max(each[DELAY], mine[DELAY])
      if each[PASSED] <= MOST_PASSED and each[COMES] then table.insert(kept, each) end
    else
      table.insert(kept, each)
    end
  end
  waiting = kept
  departures[mine[TICKET]] = {now, now + patience, mine[DELAY]}
end

local function due_of(mine, last, free)
  local due = math.max(now, paused_until)
  for _, each in pairs(departures) do
    due = math.max(due, each[AT] + math.max(each[KEEPS], mine[DELAY]))
  end
  if last then
    local after = last[DUE] > now and math.max(last[DELAY], mine[DELAY]) or grace(last)
    due = math.max(due, last[DUE] + after)
  end
  if due <= now and now < free then
    due = math.min(now + math.min(math.max(mine[DELAY] / 10, 0.02), 0.5), free)
  end
  return due
end

local function ask(ticket, delay, patience)
  forget()
  if lost_at > 0 then paused_until = math.max(paused_until, lost_at + math.max(delay, LEAST_SILENCE)) end
  local place = place_of(ticket, delay, patience ~= nil)
  local mine, last = waiting[place], nil
  for before = 1, place - 1 do
    local each = waiting[before]
    if now <= each[DUE] + grace(each) then last = each end
  end
  local free = free_at(ticket, delay)
  if patience and now >= free and not last then
    go(mine, patience)
    return 0
  end
  mine[DUE] = due_of(mine, last, free)
  local wait = mine[DUE] - now
  if not patience then return wait end
  if last then wait = math.min(wait, math.max(LONGEST_WAIT, 2 * delay)) end
  return math.max(wait, SHORTEST_WAIT)
end

local function unused(ticket, ago)
  local kept = {}
  for _, each in ipairs(waiting) do
    if each[TICKET] ~= ticket then table.insert(kept, each) end
  end
  waiting = kept
  local last = departures[ticket]
  departures[ticket] = nil
  if last and ago then left(ticket, ago, last[KEEPS]) end
end

local answer = 0
if call == 'ask' then
  answer = ask(ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
elseif call == 'left' then
  left(ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
elseif call == 'unused' then
  unused(ARGV[2], tonumber(ARGV[3]))
else
  paused_until = math.max(paused_until, now + tonumber(ARGV[2]))
end

local useful_until, longest = paused_until, remembered()
for _, each in pairs(departures) do useful_until = math.max(useful_until, each[UNTIL] + longest) end
for _, each in ipairs(waiting) do useful_until = math.max(useful_until, each[DUE] + grace(each)) end
local useful = math.ceil((useful_until - now) * 1000)
if useful > 0 then
  local state = cmsgpack.pack({departures, waiting, paused_until, now, process, lost_at})
  redis.call('SET', KEYS[1], state, 'PX', useful)
else
  redis.call('DEL', KEYS[1])
end
return string.format('%.17g', answer)
