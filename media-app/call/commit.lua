-- Moves one live record: compares version, owner and status, writes the record, appends its entry to the event stream.
-- A commit that comes again, because its answer was lost with the connection, is known by its id and changes nothing.
-- KEYS: 1 record, 2 stream, 3 owner's set, 4 previous owner's set
-- ARGV: 1 expected version (0: must not exist), 2 expected owner, 3 record JSON, 4 entry JSON,
--       5 seconds to keep it when final (0: it lives), 6 member "<kind>:<id>", 7 expected status, 8 id of this commit
-- Returns 1 done, -1 another version, -2 another owner, -3 already there, -4 another status.
local current = redis.call('GET', KEYS[1])
if current then
  local commits = string.match(current, '"commits":%[([^%]]*)%]')
  if commits and string.find(commits, ARGV[8], 1, true) then return 1 end
end
if ARGV[1] == '0' then
  if current then return -3 end
else
  if not current then return -1 end
  if string.match(current, '"version":(%d+)') ~= ARGV[1] then return -1 end
  if string.match(current, '"owner":"([^"]*)"') ~= ARGV[2] then return -2 end
  if string.match(current, '"status":"([^"]*)"') ~= ARGV[7] then return -4 end
end
if ARGV[5] == '0' then
  redis.call('SET', KEYS[1], ARGV[3])
  redis.call('SADD', KEYS[3], ARGV[6])
else
  redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[5])
  redis.call('SREM', KEYS[3], ARGV[6])
end
if KEYS[4] ~= KEYS[3] then redis.call('SREM', KEYS[4], ARGV[6]) end
redis.call('XADD', KEYS[2], '*', 'entry', ARGV[4])
return 1
