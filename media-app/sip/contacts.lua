-- Changes what is registered of one extension, tells it, and notes when to look again; nothing when somebody was faster.
-- KEYS: 1 contacts, 2 ends, 3 checks of the SIP server, 4 the connection, 5 SIP servers, 6 when extensions were seen,
--       7 event stream, 8 channel of presence
-- ARGV: 1 extension id, 2 a change as JSON: expected {binding: contact}, save [{binding, contact, ends, check}], drop
--       [binding], told [entry], seen (milliseconds; 0: not now), sip_server, connection_ends (0: over UDP)
-- Returns 1 done, 0 the contacts are not those expected.
local change = cjson.decode(ARGV[2])
local count = 0
for binding, contact in pairs(change.expected) do
  if redis.call('HGET', KEYS[1], binding) ~= contact then return 0 end
  count = count + 1
end
if redis.call('HLEN', KEYS[1]) ~= count then return 0 end
for _, binding in ipairs(change.drop) do
  redis.call('HDEL', KEYS[1], binding)
  redis.call('ZREM', KEYS[2], ARGV[1] .. ' ' .. binding)
end
for _, one in ipairs(change.save) do
  local member = ARGV[1] .. ' ' .. one.binding
  redis.call('HSET', KEYS[1], one.binding, one.contact)
  redis.call('ZADD', KEYS[2], one.ends, member)
  redis.call('ZADD', KEYS[3], one.check, member)
end
if #change.save > 0 then redis.call('SADD', KEYS[5], change.sip_server) end
if change.connection_ends > 0 then
  redis.call('SADD', KEYS[4], ARGV[1])
  redis.call('PEXPIREAT', KEYS[4], string.format('%.0f', change.connection_ends))
end
if change.seen > 0 then redis.call('HSET', KEYS[6], ARGV[1], string.format('%.0f', change.seen)) end
for _, entry in ipairs(change.told) do redis.call('XADD', KEYS[7], '*', 'entry', entry) end
if #change.told > 0 then redis.call('PUBLISH', KEYS[8], KEYS[1]) end
return 1
