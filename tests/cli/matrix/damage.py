# SPDX-License-Identifier: MIT
"""The damaged files: (name, bytes, what the tool must say about it) each, the same in every run."""
from .forge import (AUXTRACE, BRANCH, CALLCHAIN, CGROUP, CLOCK_DATA, CMDLINE, COMM, COMPRESSED, COMPRESSED2, ENTRY,
                    EVENT_DESC, FEATURE, FORK, GROUP_DESC, HEADER, HOSTNAME, HUGE, IDENTIFIER, IP, KSYMBOL, LOST, MMAP2,
                    NAMESPACES, NRCPUS, RAW, READ, READ_RECORD, REGS, ROUND, SAMPLE, SAMPLE_TIME, STACK, TEXT_POKE, TID,
                    TIME, TOTAL_MEM, TRACING, TRACING_DATA, UPDATE, ATTR_RECORD, Forge, zstd, zstd_same)

CUT = r"(stops in mid-record at byte \d+|ends at byte \d+, but its header promises|ends inside its header|less than any)"
BROKEN = r"damaged at byte \d+: no record can look like this"
RECORD = r"\d+ records? (is|are) malformed .*at byte \d+"
ABOUT = r"the record at byte \d+ \(\w+\) is malformed"
SECTION = r"section \d+ \(\S+, \d+ bytes at byte \d+\) (is malformed|lies outside)"
LIST = r"the list of sections \(\d+ bytes at byte \d+\) lies outside the file"
EVENTS = r"the list of events \(\d+ bytes at byte \d+\) lies outside the file"
EVENT = r"event 0 of the header, at byte \d+, is malformed"


def headers(big):
    good = Forge(big).file()
    yield "nothing at all", b"", "less than any recording"
    yield "half of the magic", good[:4], "less than any recording"
    yield "cut in the header's size", good[:12], "ends inside its header"
    yield "cut in the header", good[:50], CUT
    yield "cut at the end of the header", good[:HEADER], "records begin at byte"
    yield "no magic", Forge(big).file(magic=b"NOTPERF!"), "does not begin with PERFILE2"
    yield "magic of 2009", Forge(big).file(magic=b"PERFFILE"), "version 1"
    for size in (0, 15, 17, 103, 1 << 60):
        yield "a header of %d bytes" % size, Forge(big).file(header_size=size), r"header of \d+ bytes"
    for size in (0, 63, 79, 4097, 1 << 63):
        yield "entries of %d bytes" % size, Forge(big).file(attr_size=size), r"\d+ bytes per event"
    for offset in (1 << 40, HUGE, len(good) + 1, len(good) - 8):
        yield "events at byte %d" % offset, Forge(big).file(attrs_offset=offset), EVENTS
    for size in (1 << 40, HUGE, 1 << 31):
        yield "%d bytes of events" % size, Forge(big).file(attrs_size=size), EVENTS
    for offset in (1 << 40, HUGE, len(good) - 8):
        yield "ids at byte %d" % offset, Forge(big).file(ids_offset=offset), EVENT
    for size in (1 << 40, HUGE):
        yield "%d bytes of ids" % size, Forge(big).file(ids_size=size), EVENT


def data_ranges(big):
    good = Forge(big).file()
    for size in (1 << 40, HUGE, len(good)):
        yield "%d bytes of data" % size, Forge(big).file(data_size=size), CUT + "|" + LIST + "|" + BROKEN
    for offset in (1 << 40, HUGE, len(good) + 800):
        yield "data at byte %d" % offset, Forge(big).file(data_offset=offset), r"records begin at byte \d+, but the file has"
    yield "data over the header", Forge(big).file(data_offset=0, data_size=64), "records begin at byte 0, inside"
    yield "data over the events", Forge(big).file(data_offset=HEADER + 16, data_size=80), BROKEN + "|" + CUT
    yield "cut in a record", good[:HEADER + 16 + ENTRY + 20], CUT
    yield "cut in a sample", good[:HEADER + 16 + ENTRY + 70], CUT
    yield "cut in the list of sections", good[:-30], LIST + "|" + SECTION
    yield "cut in a section", good[:-3], SECTION


def sections(big):
    f = Forge(big)
    lying = {
        "sections at the end of the world": f.file(section_offset=HUGE),
        "sections of 2^63 bytes": f.file(section_size=1 << 63),
        "sections of a byte too many": f.file(section_size=1 << 20),
    }
    for name, content in lying.items():
        yield name, content, SECTION
    yield "all features of the world", f.file(features=(1 << 64) - 1, more_features=((1 << 64) - 1,) * 3), LIST
    yield "features that are not there", f.file(features=(1 << HOSTNAME) | 0xFFFFFF00), LIST + "|" + SECTION
    wrong = {
        "a name of 4 GiB": (HOSTNAME, f.string("h", 0xFFFFFFFF)),
        "a name without its length": (HOSTNAME, b"\0"),
        "half a number of CPUs": (NRCPUS, f.pack("I", 2)),
        "half a size of memory": (TOTAL_MEM, f.pack("I", 2)),
        "4 G arguments": (CMDLINE, f.pack("I", 0xFFFFFFFF)),
        "an argument of 2 GiB": (CMDLINE, f.pack("I", 1) + f.string("a", 1 << 31)),
        "4 G described events": (EVENT_DESC, f.pack("II", 0xFFFFFFFF, 136)),
        "events of no size": (EVENT_DESC, f.pack("II", 1, 0) + bytes(64)),
        "an event of 4 GiB": (EVENT_DESC, f.pack("II", 1, 0xFFFFFFF0) + bytes(200)),
        "4 G ids of an event": (EVENT_DESC, f.pack("II", 1, 136) + f.attr() + f.pack("I", 0xFFFFFFFF) + f.string("x")),
        "4 G groups": (GROUP_DESC, f.pack("I", 0xFFFFFFFF)),
        "a group of others": (GROUP_DESC, f.pack("I", 1) + f.string("g") + f.pack("II", 77, 3)),
        "a group that is too large": (GROUP_DESC, f.pack("I", 1) + f.string("g") + f.pack("II", 0, 0xFFFFFFFF)),
        "half a time": (SAMPLE_TIME, f.pack("Q", 1)),
        "a clock without data": (CLOCK_DATA, f.pack("I", 1)),
        "tracing data without magic": (TRACING_DATA, bytes(64)),
        "tracing data of 2^63 bytes": (TRACING_DATA, b"\x17\x08\x44tracing0.6\0\0\x08" + f.pack("I", 4096) +
                                       b"header_page\0" + f.pack("Q", 1 << 63)),
        "4 G formats": (TRACING_DATA, b"\x17\x08\x44tracing0.6\0\0\x08" + f.pack("I", 4096) + b"header_page\0" +
                        f.pack("Q", 0) + b"header_event\0" + f.pack("QI", 0, 0xFFFFFFFF)),
    }
    for name, (bit, body) in wrong.items():
        forge = Forge(big)
        forge.sections[bit] = body
        yield name, forge.file(), SECTION


def with_records(big, records, **more):
    forge = Forge(big, **more)
    forge.records = records(forge)
    return forge


def headers_of_records(big):
    """Lengths that no record has, in a file and in a stream."""
    for size in (0, 1, 7):
        forge = with_records(big, lambda f, n=size: [f.comm(), f.record(SAMPLE, bytes(32), n), f.sample(1)])
        yield "a record of %d bytes" % size, forge.file(), BROKEN
        yield "a record of %d bytes in a stream" % size, forge.pipe(), BROKEN
    forge = with_records(big, lambda f: [f.comm(), f.record(SAMPLE, bytes(32), 65535)])
    yield "a record of 64 KiB that are not there", forge.file(), CUT
    yield "a stream with a record of 64 KiB that are not there", forge.pipe(), CUT
    for size in (1 << 40, HUGE, 200):
        forge = with_records(big, lambda f, n=size: [f.comm(), f.record(AUXTRACE, f.pack("QQQIIII", n, 0, 0, 0, 0, 0, 0))])
        yield "a trace of %d bytes" % size, forge.file(), CUT
        yield "a stream with a trace of %d bytes" % size, forge.pipe(), CUT


def bodies_of_records(big):
    short = {"sample": (SAMPLE, 8), "name of a thread": (COMM, 4), "mapping": (MMAP2, 40), "task": (FORK, 12),
             "loss": (LOST, 4), "namespace": (NAMESPACES, 8), "symbol": (KSYMBOL, 12), "cgroup": (CGROUP, 4)}
    for name, (kind, size) in short.items():
        forge = with_records(big, lambda f, k=kind, n=size: [f.comm(), f.record(k, bytes(n))])
        yield "a %s of %d bytes" % (name, size), forge.file(), RECORD
    forge = with_records(big, lambda f: [f.record(NAMESPACES, f.pack("IIQ", 1, 1, 1 << 60) + bytes(48))])
    yield "2^60 namespaces", forge.file(), RECORD
    forge = with_records(big, lambda f: [f.record(TEXT_POKE, f.pack("QHH", 1, 65535, 65535) + bytes(48))])
    yield "a poke of text that is not there", forge.file(), RECORD
    base = IDENTIFIER | IP | TID | TIME
    parts = {"2^61 callers": (CALLCHAIN, "Q", (1 << 61,)), "raw bytes that are not there": (RAW, "II", (0xFFFFFFFF, 0)),
             "2^60 branches": (BRANCH, "Q", (1 << 60,)), "registers that are not there": (REGS, "Q", (2,)),
             "a stack that is not there": (STACK, "Q", (1 << 50,))}
    for name, (bit, fmt, values) in parts.items():
        forge = Forge(big, base | bit)
        forge.regs = 0xFF0FFF if bit == REGS else 0
        forge.records = [forge.sample(1000, forge.pack(fmt, *values))]
        yield name, forge.file(), RECORD
    forge = Forge(big, base | READ, 8)
    forge.records = [forge.sample(1000, forge.pack("QQ", 1 << 61, 1)),
                     forge.record(READ_RECORD, forge.pack("IIQ", 1, 1, 1 << 61))]
    yield "a group of 2^61 values", forge.file(), RECORD


def streams(big):
    f = Forge(big)
    head = f.pipe([])
    attr = f.record(ATTR_RECORD, f.attr() + f.pack("QQ", 7, 8))
    yield "a stream that ends in its header", head[:15], CUT
    yield "a stream that ends in its first record", f.pipe()[:40], CUT
    yield "a stream that ends in its last record", f.pipe()[:-3], CUT
    yield "an event of 8 bytes", head + f.record(ATTR_RECORD, bytes(8)) + f.sample(1), ABOUT
    yield "an event of 4 GiB in a stream", head + f.record(ATTR_RECORD, f.attr(0xFFFFFFF0)), ABOUT
    yield "feature 2^32", head + attr + f.record(FEATURE, f.pack("Q", 1 << 32)), ABOUT
    yield "a feature without number", head + attr + f.record(FEATURE, bytes(4)), ABOUT
    yield "a lying feature in a stream", head + attr + f.record(FEATURE, f.pack("Q", CMDLINE) + f.pack("I", 1 << 30)), ABOUT
    yield "an update of nothing", head + attr + f.record(UPDATE, bytes(8)), ABOUT
    yield "tracing data of 4 GiB", head + attr + f.record(TRACING, f.pack("I", 0xFFFFFFF8)), CUT
    yield "tracing data of zeros", head + attr + f.record(TRACING, f.pack("I", 64)) + bytes(64), ABOUT
    packed = {"garbage that is said to be compressed": (f.record(COMPRESSED, b"\x28\xb5\x2f\xfd" + b"\xff" * 60), None),
              "nothing that is said to be compressed": (f.record(COMPRESSED, b"not compressed"), None),
              "a compressed record of no bytes": (f.record(COMPRESSED, zstd(bytes(64))), None),
              "compressed inside compressed": (f.record(COMPRESSED, zstd(f.record(COMPRESSED, zstd(f.comm())))), None),
              "16 MiB of zeros in few bytes": (f.record(COMPRESSED, zstd_same(0, 128)), None),
              "a compressed part of 2^60 bytes": (f.record(COMPRESSED2, f.pack("Q", 1 << 60) + zstd(f.comm())), None)}
    for name, (record, _) in packed.items():
        yield name, head + attr + f.comm() + record + f.comm() + f.record(ROUND), "compressed|damaged at byte"
        forge = with_records(big, lambda f, r=record: [f.comm(), r, f.comm()])
        yield name + " in a file", forge.file(), "compressed|damaged at byte"


def all_files():
    for big, order in ((False, ""), (True, ", other byte order")):
        for part in (headers, data_ranges, sections, headers_of_records, bodies_of_records, streams):
            for name, content, pattern in part(big):
                yield name + order, content, pattern
