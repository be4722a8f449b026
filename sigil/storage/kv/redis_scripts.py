"""The scripts that a store runs in Redis: each is atomic, and safe to repeat when its answer got
lost.

A partition is three keys and, for a minute after each write, a fourth. They share one hash tag, the
partition, so that a cluster keeps them together:

    items   hash   sort key → 32 characters of version, 8 bytes of expiry (a big-endian double), the value
    order   zset   every sort key with score 0: the order of their bytes
    ends    zset   the sort keys of items with a lifetime; the score is when it ends
    mark    string one for each write that was done: a repeated write finds it and does nothing more

Times are the clients', in seconds since the epoch. The server's own clock only removes what is over
anyway: marks, and partitions in which every item has a lifetime, which go `GRACE_MS` after the last
of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

MARK_MS = 60_000
"""Milliseconds for which a write is remembered: far beyond the time in which it is repeated."""
GRACE_MS = 300_000
"""Milliseconds for which a partition is kept after its last item, for clocks that differ."""
BATCH = 128
"""Items that one call prunes; the server serves no other request meanwhile."""
LOOKS = 2_000
"""Sort keys that one call of a scan looks at."""
SCAN_BYTES = 4 << 20
"""Bytes after which one call of a scan stops, and is called again."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script with the name under which a server keeps it."""

    source: bytes
    sha: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "sha", hashlib.sha1(self.source, usedforsecurity=False).hexdigest().encode()
        )


_COMMON = f"""
local items, order, ends, mark = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local function live(body, now)
  return body and struct.unpack('>d', body, 33) > now
end

local function forget(sorts)
  redis.call('ZREM', order, unpack(sorts))
  redis.call('ZREM', ends, unpack(sorts))
  return redis.call('HDEL', items, unpack(sorts))
end

local function prune(now)
  local over = redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, {BATCH})
  if #over > 0 then forget(over) end
  return #over
end

-- where every item ends some day, so does the partition
local function settle(now)
  local mortal = redis.call('ZCARD', ends)
  if mortal > 0 and mortal == redis.call('ZCARD', order) then
    local last = tonumber(redis.call('ZRANGE', ends, -1, -1, 'WITHSCORES')[2])
    local left = math.max(0, math.min(math.ceil((last - now) * 1000), 4e12)) + {GRACE_MS}
    for key = 1, 3 do redis.call('PEXPIRE', KEYS[key], string.format('%.0f', left)) end
  else
    for key = 1, 3 do redis.call('PERSIST', KEYS[key]) end
  end
end

-- expect: '*' anything, '-' nothing, '=' and a version
local function allowed(body, expect)
  if expect == '*' then return true end
  if expect == '-' then return not body end
  return body and string.sub(body, 1, 32) == string.sub(expect, 2)
end
"""


def _make_script(source: str, flags: str = "") -> Script:
    return Script((f"#!lua flags={flags}\n" * bool(flags) + _COMMON + source).encode())


PUT = _make_script(f"""
local sort, expect, now, over, body = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
if not redis.call('SET', mark, '', 'NX', 'PX', {MARK_MS}) then return 1 end
local old = redis.call('HGET', items, sort)
if not allowed(live(old, now) and old, expect) then
  redis.call('DEL', mark)
  return 0
end
redis.call('HSET', items, sort, body)
if not old then redis.call('ZADD', order, 0, sort) end
if over == '' and redis.call('ZCARD', ends) == 0 then return 1 end
if over == '' then redis.call('ZREM', ends, sort) else redis.call('ZADD', ends, over, sort) end
prune(now)
settle(now)
return 1
""")
"""→ 1 stored (also when it was before), 0 `expect` does not hold. Where nothing has a lifetime,
nothing is to prune or settle.
"""

DELETE = _make_script(
    f"""
local sort, expect, now = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('EXISTS', mark) == 1 then return 1 end
local old = redis.call('HGET', items, sort)
if not allowed(live(old, now) and old, expect) then return 0 end
if not old or expect == '-' then return 1 end
redis.call('SET', mark, '', 'PX', {MARK_MS})
forget({{sort}})
if redis.call('ZCARD', ends) > 0 then settle(now) end
return 1
""",
    flags="allow-oom",
)
"""→ 1 gone, 0 `expect` does not hold. A mark is left only where something was removed: else a
repeat is as good as the first. A full server takes it too: the mark is small, and the removal
frees memory.
"""

SCAN = _make_script(f"""
local from, to, limit, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local found, sizes, looks, size = {{}}, {{}}, 0, 0
while true do
  local wanted = math.min(limit - #found / 2, 16)
  local sorts = redis.call('ZRANGEBYLEX', order, from, to, 'LIMIT', 0, wanted)
  local bodies = #sorts > 0 and redis.call('HMGET', items, unpack(sorts))
  for place, sort in ipairs(sorts) do
    local body = bodies[place]
    if live(body, now) then
      size = size + #body
      found[#found + 1], found[#found + 2] = sort, body
      sizes[#sizes + 1] = struct.pack('>I4I4', #sort, #body)
    end
  end
  looks = looks + #sorts
  from = #sorts == wanted and '(' .. sorts[wanted] or ''
  if from == '' or #found >= limit * 2 or looks >= {LOOKS} or size >= {SCAN_BYTES} then
    return {{from, table.concat(sizes), table.concat(found)}}
  end
end
""")
"""→ where to go on (empty: nowhere, it is done), pairs of sizes, and sort keys and bodies in turns,
one after the other.

Three strings, because a client that reads a list of many spends most of the time on its parts.
"""

PRUNE = _make_script("""
local now = tonumber(ARGV[1])
local over = prune(now)
if over > 0 then settle(now) end
return over
""")
"""→ how many items that were over it removed, at most `BATCH`."""
