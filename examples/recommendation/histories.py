"""Writes users' histories to Redis in the layout of Feast's online store.

    python3 examples/recommendation/histories.py HOST:PORT USERS

A user's features are the fields of a hash. Its key has the user's number, a field is the hash of VIEW:FEATURE, a value is a
serialised feast.types.Value, and the field _ts:VIEW has the time.
"""

import random
import socket
import struct
import sys
import time

PROJECT, VIEW = "shop", "user_history"
ITEMS, LONGEST = 1000, 80
STRING, INT64 = 2, 4  # types of parts of a key


def murmur3(data):
    """MurmurHash3 with 32 bits, seed 0."""
    mask, value = 0xFFFFFFFF, 0

    def rotated(x, by):
        return ((x << by) | (x >> (32 - by))) & mask

    def scrambled(chunk):
        word = int.from_bytes(chunk, "little")
        return rotated(word * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask

    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        value = (rotated(value ^ scrambled(data[at : at + 4]), 13) * 5 + 0xE6546B64) & mask
    value ^= scrambled(data[whole:]) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        value = (value ^ (value >> shift)) * factor & mask
    return value


def key(user):
    name = b"user_id"
    head = struct.pack("<III", 1, STRING, len(name)) + name
    return head + struct.pack("<IIq", INT64, 8, user) + PROJECT.encode()


def field(feature):
    return struct.pack("<I", murmur3(f"{VIEW}:{feature}".encode()))


def varint(value):
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(parts) + bytes([value])


def sized(tag, content):
    return varint(tag << 3 | 2) + varint(len(content)) + content


def int64_list(items):
    return sized(14, sized(1, b"".join(map(varint, items))))


def float_value(value):
    return varint(6 << 3 | 5) + struct.pack("<f", value)


def timestamp(seconds):
    return varint(1 << 3) + varint(int(seconds))


def history(user):
    """Returns the items that a user has viewed, the newest last, and the user's activity; None for some users."""
    chance = random.Random(user)
    if user % 10 == 9:
        return None
    return [chance.randrange(ITEMS) for _ in range(chance.randrange(LONGEST))], chance.randrange(1, 5) / 4


def command(*parts):
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def write(address, users, now=None):
    host, port = address.rsplit(":", 1)
    now = time.time() if now is None else now
    with socket.create_connection((host, int(port))) as redis, redis.makefile("rb") as answers:
        for user in range(users):
            found = history(user)
            if found is None:
                continue
            items, activity = found
            redis.sendall(
                command(
                    b"HSET",
                    key(user),
                    field("history"),
                    int64_list(items),
                    field("activity"),
                    float_value(activity),
                    b"_ts:" + VIEW.encode(),
                    timestamp(now),
                )
            )
            answer = answers.readline()
            if not answer.startswith(b":"):
                sys.exit(f"Redis answers {answer!r}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(sys.argv[1], int(sys.argv[2]))
    print(f"wrote histories of users 0 to {int(sys.argv[2]) - 1}")
