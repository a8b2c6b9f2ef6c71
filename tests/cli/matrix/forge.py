# SPDX-License-Identifier: MIT
"""Builds small perf.data files byte by byte, in both modes and byte orders, and lets every number in them lie.

A Forge holds the parts of a good recording; file() and pipe() put them together. Whoever wants a bad one changes a part,
or gives `lies`: {name of a number in the header: the value that stands there instead}.
"""
import struct

ATTR = 136
ENTRY = ATTR + 16
HEADER = 104
IP, TID, TIME, READ, CALLCHAIN, PERIOD, RAW = 1, 2, 4, 16, 32, 256, 1024
BRANCH, REGS, STACK, IDENTIFIER = 2048, 4096, 8192, 65536
COMM, SAMPLE, MMAP2, READ_RECORD, FORK, LOST, NAMESPACES, KSYMBOL, CGROUP, TEXT_POKE = 3, 9, 10, 8, 7, 2, 16, 17, 19, 20
SWITCH = 14
ATTR_RECORD, TRACING, ROUND, AUXTRACE, UPDATE, FEATURE, COMPRESSED, COMPRESSED2 = 64, 66, 68, 71, 78, 80, 81, 83
HOSTNAME, NRCPUS, TOTAL_MEM, CMDLINE, EVENT_DESC, GROUP_DESC, SAMPLE_TIME, CLOCK_DATA = 3, 7, 10, 11, 12, 17, 21, 29
TRACING_DATA = 1
SAMPLE_ID_ALL = 1 << 18
HUGE = 0xFFFFFFFFFFFFFFF8


def zstd(payload):
    """A frame with one block that is not compressed."""
    block = (len(payload) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\xa0" + len(payload).to_bytes(4, "little") + block + payload


def zstd_same(byte, blocks):
    """A frame of blocks that repeat one byte 128 KiB each."""
    body = b""
    for i in range(blocks):
        body += ((131072 << 3) | 2 | (i == blocks - 1)).to_bytes(3, "little") + bytes([byte])
    return b"\x28\xb5\x2f\xfd\x00\x58" + body


class Forge:
    def __init__(self, big=False, sample_type=IDENTIFIER | IP | TID | TIME, read_format=0):
        self.order = ">" if big else "<"
        self.sample_type, self.read_format = sample_type, read_format
        self.regs, self.stack = 0, 0
        self.ids = [7, 8]
        self.sections = {HOSTNAME: self.string("host"), NRCPUS: self.pack("II", 2, 2)}
        self.records = [self.comm(), self.sample(1000), self.sample(2000), self.record(ROUND)]
        self.lies = {}

    def pack(self, fmt, *values):
        return struct.pack(self.order + fmt, *values)

    def string(self, text, size=None):
        raw = text.encode() + b"\0"
        return self.pack("I", len(raw) if size is None else size) + raw

    def record(self, kind, body=b"", size=None, misc=0):
        return self.pack("IHH", kind, misc, 8 + len(body) if size is None else size) + body

    def comm(self, name=b"sh\0\0\0\0\0\0", pid=1):
        trailer = self.pack("IIQQ", pid, pid, 900, 7)
        return self.record(COMM, self.pack("II", pid, pid) + name + trailer)

    def sample(self, time, more=b""):
        return self.record(SAMPLE, self.pack("QQIIQ", 7, 0x400000, 1, 1, time) + more)

    def attr(self, size=ATTR):
        flags = SAMPLE_ID_ALL
        if self.order == ">":  # bits are numbered from the other end of each byte
            flags = 1 << (63 - 18)
        out = self.pack("IIQQQQQ", 1, size, 0, 1000, self.sample_type, self.read_format, flags)
        out += bytes(80 - len(out)) + self.pack("QII", self.regs, self.stack, 0) + self.pack("Q", self.regs)
        return out + bytes(ATTR - len(out))

    def table_of(self, at):
        table, bodies = b"", b""
        at += 16 * len(self.sections)
        for bit in sorted(self.sections):
            offset = self.lies.get("section offset", at + len(bodies))
            size = self.lies.get("section size", len(self.sections[bit]))
            table += self.pack("QQ", offset, size)
            bodies += self.sections[bit]
        return table, bodies

    def file(self, **lies):
        self.lies = {name.replace("_", " "): value for name, value in lies.items()}
        say = self.lies.get
        ids = b"".join(self.pack("Q", i) for i in self.ids)
        attrs_at, data = HEADER + len(ids), b"".join(self.records)
        entry = self.attr(say("attr size inside", ATTR)) + self.pack("QQ", say("ids offset", HEADER),
                                                                    say("ids size", len(ids)))
        data_at = attrs_at + len(entry)
        table, bodies = self.table_of(data_at + len(data))
        features = say("features", sum(1 << bit for bit in self.sections))
        head = say("magic", b"PERFILE2" if self.order == "<" else b"2ELIFREP")
        head += self.pack("QQQQQQQQ", say("header size", HEADER), say("attr size", ENTRY),
                          say("attrs offset", attrs_at), say("attrs size", ENTRY), say("data offset", data_at),
                          say("data size", len(data)), 0, 0)
        head += self.pack("QQQQ", features, *say("more features", (0, 0, 0)))
        return head + ids + entry + data + table + bodies

    def pipe(self, records=None):
        attr = self.record(ATTR_RECORD, self.attr() + b"".join(self.pack("Q", i) for i in self.ids))
        head = (b"PERFILE2" if self.order == "<" else b"2ELIFREP") + self.pack("Q", 16)
        return head + b"".join([attr] + self.records if records is None else records)
