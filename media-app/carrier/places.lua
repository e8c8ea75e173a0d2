-- Takes a place among the calls of one scope, when its ceilings allow it. Nodes count their own calls in fields of a hash;
-- those of a node whose lease is gone do not count.
-- KEYS: the hash of counts, the key of the rate. ARGV: node, most calls, most calls a second (0: any), now in ms, prefix of node keys
local held = 0
for _, node in ipairs(redis.call('HKEYS', KEYS[1])) do
  if node == ARGV[1] or redis.call('EXISTS', ARGV[5] .. node) == 1 then
    held = held + tonumber(redis.call('HGET', KEYS[1], node))
  else
    redis.call('HDEL', KEYS[1], node)
  end
end
local most, rate, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if most > 0 and held >= most then return 'full' end
if rate > 0 then
  -- The generic cell rate algorithm: as many at once as a second may have, then one each 1/rate.
  local due = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now) + 1000 / rate
  if due - now > 1000.5 then return 'fast' end
  redis.call('SET', KEYS[2], tostring(due), 'PX', 2000)
end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
return 'ok'
