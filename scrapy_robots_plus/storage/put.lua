-- KEYS[1]: a record. ARGV: the new one; seconds it can be of use; seconds that clocks may differ.
-- Stores it unless the one there is newer. Returns whether it is stored.
local LEAST = 60  -- seconds that it is kept, wherever the clock stood that dated it

local function standing(data)  -- readable, fetched_at, failed_at: see codec.py, version 1
  if #data < 38 or data:byte(1) ~= 1 or data:byte(18) > 1 then return nil end
  local fetched, failed = struct.unpack('>dd', data, 19)
  return {data:byte(18), fetched, failed}
end

local function newer(one, other)
  for part = 1, 3 do
    if one[part] ~= other[part] then return one[part] > other[part] end
  end
  return false
end

local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local new = standing(ARGV[1])
local use, skew = tonumber(ARGV[2]), tonumber(ARGV[3])
local held = redis.pcall('GETRANGE', KEYS[1], 0, 37)
held = type(held) == 'string' and standing(held)  -- anything else there is no record
if held and newer(held, new) and math.max(held[2], held[3]) <= now + skew then return 0 end
local left = math.max(new[2], new[3]) + use - now
left = math.max(math.min(left, use), LEAST)
redis.call('SET', KEYS[1], ARGV[1], 'PX', string.format('%.0f', left * 1000))
return 1
