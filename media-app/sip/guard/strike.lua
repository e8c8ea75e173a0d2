-- Counts an offence of a source, and bans it when the measure is full. The measure leaks evenly, so it looks back over a
-- sliding window and costs one small key a source.
-- KEYS: measure, known, bans (hash), ends (sorted set), sources (set), record
-- ARGV: source, points, limit, window ms, ban ms, now ms, proven 0|1, factor for known sources, ban as JSON without times,
-- most bans at a time
-- Returns the ban as JSON, or false.
local source, points, limit, window = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ban_ms, now = tonumber(ARGV[5]), tonumber(ARGV[6])
if redis.call('HEXISTS', KEYS[3], source) == 1 then return false end
if redis.call('EXISTS', KEYS[2]) == 1 then
  if ARGV[7] == '0' then return false end
  limit = limit * tonumber(ARGV[8])
end
local full, at = unpack(redis.call('HMGET', KEYS[1], 'points', 'at'))
local left = math.max(0, tonumber(full or 0) - (now - tonumber(at or now)) * limit / window)
local sum = left + points
if sum < limit then
  redis.call('HSET', KEYS[1], 'points', tostring(sum), 'at', ARGV[6])
  redis.call('PEXPIRE', KEYS[1], window)
  return false
end
if redis.call('HLEN', KEYS[3]) >= tonumber(ARGV[10]) then return false end
local count = redis.call('INCR', KEYS[6])
redis.call('PEXPIRE', KEYS[6], 86400000)
local ban = cjson.decode(ARGV[9])
ban.count = count
ban.ends_at = now + math.min(ban_ms * 2 ^ (count - 1), 86400000)
local text = cjson.encode(ban)
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[3], source, text)
redis.call('ZADD', KEYS[4], ban.ends_at, source)
redis.call('SADD', KEYS[5], source)
return text
