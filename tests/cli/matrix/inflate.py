# SPDX-License-Identifier: MIT
"""Recordings whose records are all alike but for one number, so that they compress well: each record makes a reader
remember one more thing. One function a thing; each yields the bytes of records, or says what else the file has.
"""
import ctypes
import struct

from matrix.forge import (CALLCHAIN, CGROUP, COMM, COMPRESSED, FORK, IDENTIFIER, IP, KSYMBOL, LOST, MMAP2, NAMESPACES,
                          SAMPLE, SWITCH, TID, TIME, Forge)

CPU = 128
EXEC = 0x2000
KERNEL_SPACE, USER_SPACE = 1, 2
RECORD_MAX = 65528
BLOCK = 4000  # records
NAME_BYTES = 400
GAP_THREADS = 20000


def compress(data, level=19):
    """One frame; None without the library."""
    try:
        lib = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(lib.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = lib.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), level)
    return room.raw[:size]


class Inflate(Forge):
    def __init__(self, sample_type=IDENTIFIER | IP | TID | TIME | CPU):
        super().__init__(sample_type=sample_type)
        self.time = 1000

    def trailer(self, pid, tid):
        cpu = self.pack("II", 0, 0) if self.sample_type & CPU else b""
        return self.pack("IIQ", pid, tid, self.time) + cpu + self.pack("Q", 7)

    def text(self, name):
        return name + bytes(8 - len(name) % 8)

    def other(self, kind, body, pid=1, tid=1, misc=USER_SPACE):
        return self.record(kind, body + self.trailer(pid, tid), misc=misc)

    def hit(self, ip=0x400000, pid=1, tid=1, cpu=0, more=b""):
        body = self.pack("QQIIQ", 7, ip, pid, tid, self.time)
        if self.sample_type & CPU:
            body += self.pack("II", cpu, 0)
        return self.record(SAMPLE, body + more, misc=USER_SPACE)

    def map(self, pid, start, name, size=0x1000):
        return self.other(MMAP2, self.pack("IIQQQIIQQII", pid, pid, start, size, 0, 1, 1, 1, 0, 5, 2) + self.text(name), pid)


def processes(f, i):
    return f.hit(pid=i + 2, tid=i + 2)


def threads(f, i):
    return f.hit(pid=1, tid=i + 2)


def forks(f, i):
    return f.other(FORK, f.pack("IIIIQ", i + 2, 1, i + 2, 1, f.time), i + 2, i + 2)


def execs(f, i):
    return f.other(COMM, f.pack("II", 1 + i // 30000, 1 + i // 30000) + f.text(b"x"), misc=EXEC)


def names_of_threads(f, i):
    return f.other(COMM, f.pack("II", i + 2, i + 2) + f.text(b"t%07d" % i))


def names_of_one_thread(f, i):
    return f.other(COMM, f.pack("II", 1, 1) + f.text(b"t%07d" % i))


def mappings(f, i):
    return f.map(1, 0x100000000 + (i << 16), b"/lib/one.so")


def mappings_in_place(f, i):
    return f.map(1, 0x100000000, b"/lib/%d.so" % (i % 2), size=0x1000 * (1 + i % 3))


def mappings_of_processes(f, i):
    return f.map(i + 2, 0x100000000, b"/lib/one.so")


def images(f, i):
    return f.map(1, 0x100000000 + (i << 16), b"/%08d" % i + b"a" * NAME_BYTES)


def images_hit(f, i):
    start = 0x100000000 + (i << 16)
    return f.map(1, start, b"/%08d" % i + b"a" * NAME_BYTES) + f.hit(ip=start + 8)


def kernel_symbols(f, i):
    body = f.pack("QIHH", 0xffffffffc0000000 + 64 * i, 64, 1, 0) + f.text(b"bpf_prog_%d" % i)
    return f.other(KSYMBOL, body, misc=KERNEL_SPACE)


def cgroups(f, i):
    return f.other(CGROUP, f.pack("Q", i + 1) + f.text(b"/%08d" % i + b"a" * NAME_BYTES))


def namespaces(f, i):
    return f.other(NAMESPACES, f.pack("IIQ", i + 2, i + 2, 7) + f.pack("14Q", *range(14)))


def losses(f, i):
    return f.other(LOST, f.pack("QQ", 7, i + 1))


def gaps(f, i):
    """Threads that run, and then losses: each takes something from what is known of all of them."""
    lost = b"" if i < GAP_THREADS else f.other(LOST, f.pack("QQ", 7, 1))
    f.time += 1
    return lost + f.other(SWITCH, b"", pid=i % GAP_THREADS + 2, tid=i % GAP_THREADS + 2, misc=0)


def addresses(f, i):
    return f.hit(ip=0x400000 + 16 * i)


def cpus(f, i):
    return f.hit(cpu=i)


def times(f, i):
    return f.hit()


def chains(f, i):
    deep = [0xfffffffffffffe00] + [0x400000 + 16 * (i + k) for k in range(20)]
    return f.hit(more=f.pack("Q21Q", 21, *deep))


def deep_chains(f, i):
    deep = [0xfffffffffffffe00] + [0x400000 + 16 * (i + k) for k in range(1000)]
    return f.hit(more=f.pack("Q1001Q", 1001, *deep))


KINDS = [processes, threads, forks, execs, names_of_threads, names_of_one_thread, mappings, mappings_in_place,
         mappings_of_processes, images, images_hit, kernel_symbols, cgroups, namespaces, losses, gaps, addresses, cpus, times,
         chains, deep_chains]


def recording(kind, number, packed):
    """A file with that many records, and how many bytes they have before they are packed."""
    sample_type = IDENTIFIER | IP | TID | TIME | CPU
    f = Inflate(sample_type | (CALLCHAIN if kind in (chains, deep_chains) else 0))
    parts = [f.map(1, 0x400000, b"/lib/one.so", size=1 << 30)]
    for i in range(number):
        f.time += 1000
        parts.append(kind(f, i))
    return pack_up(f, b"".join(parts), packed, {})


def pack_up(f, data, packed, sections, level=19):
    """The file, and how many bytes its records have before they are packed; no file without a packer."""
    f.records = [data]
    if packed:
        small = compress(data, level)
        if small is None:
            return None, len(data)
        step = RECORD_MAX - 8
        f.records = [f.record(COMPRESSED, small[at:at + step]) for at in range(0, len(small), step)]
    f.sections = sections
    return f.file(), len(data)
