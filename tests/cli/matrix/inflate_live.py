# SPDX-License-Identifier: MIT
"""The same as inflate.py for live events: batches of a program that remembers one more thing with each event."""
import struct

from matrix.forge import EVENT_DESC, IDENTIFIER, IP, PERIOD, RAW, SAMPLE, TID, TIME
from matrix.inflate import CPU, Inflate, pack_up

BATCH_BYTES = 30000
EVENTS, TABLE, SITES, END = 1, 2, 3, 8
CLOSED, NANOSECONDS = 1, 4
(REGION_BEGIN, REGION_END, RANGE, TASK_BEGIN, TASK_END, TASK_ENTER, LOG, COUNTER, GAUGE, FLOW, INSTANT, RESOURCE_NEW) = range(1, 13)
SAMPLE_EVENT, LABELS, OPEN_ENTER, STRING, STACK, SITE = 17, 18, 22, 25, 26, 27
MASK = 2**64 - 1
PRIME = 0x9E3779B97F4A7C15
NAME = b"coati/live\0"


def mix(state, word):
    state = ((state ^ word) * PRIME) & MASK
    return state ^ state >> 32


def checksum(data):
    lanes = [1, 2, 3, 4]
    padded = data + bytes(-len(data) % 32)
    for i, word in enumerate(struct.unpack("<%dQ" % (len(padded) // 8), padded)):
        lanes[i % 4] = mix(lanes[i % 4], word)
    state = len(data)
    for lane in lanes:
        state = mix(state, lane)
    return state & 0xFFFFFFFF


def num(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def text(value):
    return num(len(value) << 1) + value


def event(kind, *parts):
    """A nanosecond after the one before."""
    return bytes([kind, 1]) + b"".join(parts)


def define(kind, *parts):
    return bytes([kind, 0]) + b"".join(parts)


class Live(Inflate):
    """A stream of batches of the process 7."""

    def __init__(self):
        super().__init__(sample_type=IDENTIFIER | IP | TID | TIME | CPU | PERIOD | RAW)
        self.seqs = {}
        self.batches = []

    def attr(self, size=136):
        out = bytearray(super().attr(size))
        struct.pack_into("<Q", out, 8, 9)  # the dummy event
        return bytes(out)

    def batch(self, kind, data, events, pid=7, tid=7, generation=1):
        self.time += 100000
        seq = self.seqs.get((pid, tid), 0)
        self.seqs[pid, tid] = seq + (kind == EVENTS)
        head = struct.pack("<IHHQIIIHHQQQQQIIIIII", 0x31424C43, 1, kind, generation, pid, tid, seq if kind == EVENTS else 0, 0,
                           CLOSED | NANOSECONDS, self.time, self.time, self.time, self.time + 90000, self.time + 90000, 1,
                           events, len(data), len(data), checksum(data), 0)
        raw = struct.pack("<IHHI", 0x69746F63, 2, 1, len(head) + len(data)) + head + data
        raw += bytes(-(4 + len(raw)) % 8)
        body = self.pack("QQIIQQQI", 7, 0, pid, tid, self.time, 0, 1, len(raw)) + raw
        self.batches.append(self.record(SAMPLE, body, misc=2))

    def sites(self):
        data = b"".join(define(SITE, num(i), num(1), num(1), text(b"site%d" % i), text(b"c"), text(b"f.c"), text(b"f"), text(b""))
                        for i in range(1, 4))
        self.batch(SITES, data, 3)

    def fill(self, events):
        """As many batches of the thread 7 as it takes."""
        part, size, number = [], 0, 0
        for e in events:
            part.append(e)
            size += len(e)
            number += 1
            if size > BATCH_BYTES - 300:
                self.batch(EVENTS, b"".join(part), number)
                part, size, number = [], 0, 0
        self.batch(EVENTS, b"".join(part), number)


def live_threads(f, number):
    for i in range(number):
        f.batch(EVENTS, event(REGION_BEGIN, num(1)), 1, tid=8 + i)


def live_processes(f, number):
    for i in range(number):
        f.batch(EVENTS, event(REGION_BEGIN, num(1)), 1, pid=8 + i, tid=8 + i)


def live_generations(f, number):
    for i in range(number):
        f.batch(EVENTS, event(REGION_BEGIN, num(1)), 1, generation=1 + i)


def live_regions(f, number):
    f.fill(event(REGION_END if i % 2 else REGION_BEGIN, b"" if i % 2 else num(1)) for i in range(number))


def live_open_regions(f, number):
    f.fill(event(REGION_BEGIN, num(1)) for _ in range(number))


def live_tasks(f, number):
    f.fill(event(TASK_BEGIN, num(2), num(100 + i), num(0)) for i in range(number))


def live_task_changes(f, number):
    f.fill(event(TASK_ENTER, num(i % 2)) for i in range(number))


def live_counters(f, number):
    f.fill(event(COUNTER, num(3), num(2 * i)) for i in range(number))


def live_logs(f, number):
    f.fill(event(LOG, num(3), text(b"%d" % i)) for i in range(number))


def live_long_logs(f, number):
    """Each names a text that stands there once."""
    f.batch(TABLE, define(STRING, num(9), num(0), num(29000), b"x" * 29000), 1)
    f.fill(event(LOG, num(3), num(9 << 1 | 1)) for _ in range(number))


def live_labels(f, number):
    f.fill(event(LABELS, text_bytes(b"".join(num(2) + b"k%d" % k + num(8) + b"%08d" % (i + k) for k in range(8))))
           for i in range(number))


def text_bytes(data):
    return num(len(data)) + data


def live_strings(f, number):
    f.fill(event(STRING, num(10 + i), num(0), text_bytes(b"%d" % i)) for i in range(number))


def live_samples(f, number):
    """With stacks of 128 frames, a byte each, that differ in their first."""
    def events():
        for i in range(number):
            yield event(STACK, num(10 + i), num(128), num(2 * (0x400000 + i)), num(32) * 127)
            yield event(SAMPLE_EVENT, num(10 + i), num(1000000))
    f.fill(events())


def live_resources(f, number):
    f.fill(event(RESOURCE_NEW, num(1), num(10 + i), num(0), text(b"r")) for i in range(number))


def live_waiting(f, number):
    """Generations that cannot be given out: of another process nothing but its name is there."""
    f.batch(SITES, define(SITE, num(1), num(1), num(1), *[text(b"x")] * 5), 1, pid=9, tid=9)
    live_generations(f, number)


def live_late(f, number):
    """Batches that come after their generation was complete, while another process keeps all waiting."""
    f.batch(SITES, define(SITE, num(1), num(1), num(1), *[text(b"x")] * 5), 1, pid=9, tid=9)
    f.batch(EVENTS, event(REGION_BEGIN, num(1)), 1)
    f.batch(END, b"", 0)
    for _ in range(number):
        f.batch(EVENTS, event(REGION_BEGIN, num(1)), 1)


def live_told_threads(f, number):
    """Threads of which others tell."""
    f.fill(event(OPEN_ENTER, num(100 + i), num(5)) for i in range(number))


def live_renames(f, number):
    """A site with another name, again and again, while many threads have something ready."""
    live_threads(f, number // 2)
    for i in range(number // 2):
        f.batch(SITES, define(SITE, num(1), num(1), num(1), text(b"s%d" % i), *[text(b"x")] * 4), 1)


KINDS = [live_waiting, live_late, live_told_threads, live_renames, live_threads, live_processes, live_generations, live_regions, live_open_regions, live_tasks, live_task_changes,
         live_counters, live_logs, live_long_logs, live_labels, live_strings, live_samples, live_resources]


def recording(kind, number, packed):
    f = Live()
    f.sites()
    kind(f, number)
    desc = f.pack("II", 1, 136) + f.attr() + f.pack("I", 1) + f.string(NAME[:-1].decode()) + f.pack("Q", 7)
    f.ids = [7]
    return pack_up(f, b"".join(f.batches), packed, {EVENT_DESC: desc})
