# SPDX-License-Identifier: MIT
"""What perf shows of a recording: `perf script -D`, taken apart into one object per record.

In comes the text, out come records with their type, all bytes, and the fields as perf decoded them, by the names that
`coati dump --json` gives them. Only what perf said is in there: a field that it does not print is not there.
"""
import re
import struct
import subprocess

START = re.compile(r"^0(?:x[0-9a-f]+)?@.* \[0x[0-9a-f]+\]: event: (\d+)$")
BYTES = re.compile(r"^\.  [0-9a-f]{4}: ((?: [0-9a-f]{2}){1,16})")
LEAD = re.compile(r"^(?:(-?\d+) )?(?:(-?\d+) )?0(?:x[0-9a-f]+)? \[0x[0-9a-f]+\]: PERF_RECORD_(\w+)(.*)$")
FIRST_OF_PERF = 64  # types from here on are the tool's own records
COMPRESSED = (81, 83)
NO_CPU = 0xFFFFFFFF
PAGE_SIZES = {"N/A": 0, "4K": 4096, "64K": 65536, "2M": 2 << 20, "1G": 1 << 30}


class Unread(Exception):
    """perf cannot read its own recording; says why."""


class Record:
    def __init__(self, number):
        self.number, self.type, self.bytes = number, None, b""
        self.lines, self.fields, self.trace, self.event = [], {}, None, None


def run_script(path):
    """What perf prints. It warns about fields that an event does not have; a perf that dies (of its own assertions, in
    a chroot or beside BPF programs that come and go) has printed a part alone."""
    done = subprocess.run(["perf", "script", "-D", "-F", "event,trace", "-i", path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode < 0:
        said = [line for line in done.stderr.decode(errors="replace").split("\n") if line.strip()]
        raise Unread("perf script died of signal %d: %s" % (-done.returncode, " ".join(said[-1:])[:120]))
    return done.stdout.decode("utf-8", "replace")


def split(text):
    records = []
    for line in text.split("\n"):
        start = START.match(line)
        if start:
            records.append(Record(int(start.group(1))))
        elif records and line.startswith(".  "):
            records[-1].bytes += bytes.fromhex(BYTES.match(line).group(1))
        elif records and line:
            records[-1].lines.append(line)
    return records


def chain_of(lines):
    for i, line in enumerate(lines):
        found = re.match(r"^\.\.\. (?:FP|LBR) (?:call )?chain: nr:(\d+)$", line)
        if found:
            rows = lines[i + 1:i + 1 + int(found.group(1))]
            return [int(row.split(":")[1], 16) for row in rows]
    return None


def registers_of(lines, which):
    """{name: value} behind "... user regs:" or "... intr regs:"."""
    for i, line in enumerate(lines):
        if line.startswith("... %s regs: mask" % which):
            rows = (re.match(r"^\.\.\.\. (\w+) +0x([0-9a-f]+)$", row) for row in lines[i + 1:])
            regs = {}
            for row in rows:
                if not row:
                    break
                regs[row.group(1).lower()] = int(row.group(2), 16)
            return regs
    return None


def read_block_of(lines, fields):
    if "... sample_read:" not in lines:
        return
    at = lines.index("... sample_read:") + 1
    values = []
    for line in lines[at:]:
        times = re.match(r"^\.\.\.\.\.\. time (enabled|running) ([0-9a-f]+)$", line)
        value = re.match(r"^\.\.\.\.\. id ([0-9a-f]+), value ([0-9a-f]+)(?:, lost (\d+))?$", line)
        if times:
            fields[times.group(1) + "_ns"] = int(times.group(2), 16)
        elif value:
            values.append((int(value.group(1), 16), int(value.group(2), 16), value.group(3)))
        elif not line.startswith(".... group nr"):
            break
    for i, (ident, value, lost) in enumerate(values):
        name = "value" if len(values) == 1 else "value%d" % i
        fields[name], fields[name + "_id"] = value, ident
        if lost is not None:
            fields[name + "_lost"] = int(lost)


def sample(r, rest):
    found = re.match(r"^\(IP, 0x[0-9a-f]+\): (-?\d+)/(-?\d+): (\S+) period: (\d+) addr: (\S+)$", rest)
    pid, tid, ip, period, addr = found.groups()
    r.fields.update(pid=int(pid), tid=int(tid), ip=int(ip, 0), period=int(period), addr=int(addr, 0))
    r.fields["callchain"] = chain_of(r.lines)
    r.fields["regs_user"] = registers_of(r.lines, "user")
    r.fields["regs_intr"] = registers_of(r.lines, "intr")
    read_block_of(r.lines, r.fields)
    patterns = (("stack_dyn_size", r"^\.\.\. ustack: size (\d+), ", int),
                ("weight", r"^\.\.\. weight: (\d+)", int),
                ("data_src", r"^ \. data_src: 0x([0-9a-f]+)$", lambda t: int(t, 16)),
                ("phys_addr", r"^ \.\. phys_addr: 0x([0-9a-f]+)$", lambda t: int(t, 16)),
                ("transaction", r"^\.\.\. transaction: ([0-9a-f]+)$", lambda t: int(t, 16)),
                ("data_page_size", r"^ \.\. data page size: (\S+)$", PAGE_SIZES.get),
                ("code_page_size", r"^ \.\. code page size: (\S+)$", PAGE_SIZES.get))
    for line in r.lines:
        for name, pattern, value in patterns:
            found = re.match(pattern, line)
            if found:
                r.fields[name] = value(found.group(1))
    shown = [i for i, line in enumerate(r.lines) if line.startswith(" ...... dso: ")]
    said = r.lines[shown[0] + 1] if shown and len(r.lines) > shown[0] + 1 else ""
    found = re.match(r"^ *(.*?): (.*)$", said) if said else None
    if found and found.group(1).count(":") <= 1:
        r.event, r.trace = found.groups()


def mmap(r, rest):
    plain = re.match(r"^ (-?\d+)/(-?\d+): \[(\S+)\((\S+)\) @ (\S+)\]: (.) (.*)$", rest)
    inode = re.match(r"^ (-?\d+)/(-?\d+): \[(\S+)\((\S+)\) @ (\S+) (\w+):(\w+) (\d+) (\d+)\]: (\S{4}) (.*)$", rest)
    build = re.match(r"^ (-?\d+)/(-?\d+): \[(\S+)\((\S+)\) @ (\S+) <(\w*)>\]: (\S{4}) (.*)$", rest)
    found = inode or build or plain
    pid, tid, addr, size, offset = found.groups()[:5]
    r.fields.update(map_pid=int(pid), map_tid=int(tid), addr=int(addr, 0), len=int(size, 0), pgoff=int(offset, 0),
                    name=found.groups()[-1])
    if inode:
        maj, minor, ino, generation, prot = inode.groups()[5:10]
        r.fields.update(maj=int(maj, 16), min=int(minor, 16), ino=int(ino), ino_generation=int(generation), prot=prot)
    elif build:
        r.fields.update(build_id=build.group(6), prot=build.group(7))


def comm(r, rest):
    found = re.match(r"^( exec)?: (.*):(-?\d+)/(-?\d+)$", rest)
    r.fields.update(exec=bool(found.group(1)), comm=found.group(2), comm_pid=int(found.group(3)),
                    comm_tid=int(found.group(4)))


def task(r, rest):
    found = re.match(r"^\((-?\d+):(-?\d+)\):\((-?\d+):(-?\d+)\)$", rest)
    names = ("task_pid", "task_tid", "ppid", "ptid")
    r.fields.update(zip(names, (int(n) for n in found.groups())))


def switch(r, rest):
    words = rest.split()
    r.fields.update(direction=words[0].lower(), preempted="preempt" in words)
    found = re.match(r"^.* (next|prev) pid/tid: +(-?\d+)/(-?\d+)", rest)
    if found:
        r.fields.update({found.group(1) + "_pid": int(found.group(2)), found.group(1) + "_tid": int(found.group(3))})


def namespaces(r, rest):
    found = re.match(r"^ (-?\d+)/(-?\d+) - nr_namespaces: \d+$", rest)
    pairs = re.findall(r"\d+/(\w+): \d+/0x([0-9a-f]+)", "".join(r.lines))
    r.fields.update(ns_pid=int(found.group(1)), ns_tid=int(found.group(2)),
                    namespaces={name: int(inode, 16) for name, inode in pairs})


def cgroup(r, rest):
    found = re.match(r"^ cgroup: (\d+) (.*)$", rest)
    r.fields.update(cgroup=int(found.group(1)), path=found.group(2))


def ksymbol(r, rest):
    found = re.match(r"^ addr (\w+) len (\d+) type (\d+) flags (\w+) name (.*)$", rest)
    r.fields.update(addr=int(found.group(1), 16), len=int(found.group(2)), ksym_type=int(found.group(3)),
                    name=found.group(5))


def bpf_event(r, rest):
    found = re.match(r"^ type (\d+), flags \d+, id (\d+)$", rest)
    r.fields.update(what={"1": "load", "2": "unload"}[found.group(1)], prog_id=int(found.group(2)))


def lost(r, rest):
    found = re.match(r"^: id:(\d+): lost:(\d+)$", rest)
    r.fields.update(lost_id=int(found.group(1)), lost=int(found.group(2)))


def read(r, rest):
    found = re.match(r"^: (-?\d+) (-?\d+) \S+ (\d+)$", rest)
    r.fields.update(read_pid=int(found.group(1)), read_tid=int(found.group(2)), value=int(found.group(3)))


DETAILS = {"SAMPLE": sample, "MMAP": mmap, "MMAP2": mmap, "COMM": comm, "FORK": task, "EXIT": task, "SWITCH": switch,
           "SWITCH_CPU_WIDE": switch, "NAMESPACES": namespaces, "CGROUP": cgroup, "KSYMBOL": ksymbol,
           "BPF_EVENT": bpf_event, "LOST": lost, "READ": read}


def decode(r):
    """Fill the fields of a record of the kernel from the lines below its bytes."""
    for line in r.lines:
        lead = LEAD.match(line)
        if not lead:
            continue
        first, second, r.type, rest = lead.groups()
        # with a CPU among the sample's fields there are two numbers, else one
        time, cpu = (second, first) if second is not None else (first, None)
        r.fields["time_ns"] = int(time) if time and int(time) > 0 else None
        if cpu is not None and int(cpu) not in (-1, NO_CPU):
            r.fields["cpu"] = int(cpu)
        if r.type in DETAILS:
            DETAILS[r.type](r, rest)
        return


def records_of(path):
    """Those of the kernel in the order of delivery, and those of perf itself in the order of the file."""
    kernel, own = [], []
    for r in split(run_script(path)):
        if r.number < FIRST_OF_PERF:
            decode(r)
            kernel.append(r)
        elif r.number not in COMPRESSED:
            own.append(r)
    return kernel, own


def why_not_read(path):
    """What perf says of a recording that it does not read, else nothing."""
    done = subprocess.run(["perf", "evlist", "-i", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    lines = [line.strip() for line in done.stderr.decode().split("\n") if line.strip()]
    return " ".join(lines[:2])[:200] or "status %d" % done.returncode if done.returncode else None


def sample_types_of(path):
    """{event name: the names of its sample bits}, as `perf evlist -v` says."""
    done = subprocess.run(["perf", "evlist", "-v", "-i", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    types = {}
    for line in done.stdout.decode().split("\n"):
        found = re.match(r"^(.*?): (?:type: |size: ).*?sample_type: ([A-Z_|]+)", line)
        if found:
            types[found.group(1)] = set(found.group(2).split("|"))
    return types


def raw_payload(record, types):
    """The RAW bytes of a sample without a READ part: the fields before it have fixed sizes but the call chain."""
    at = 8 + 8 * len(types & {"IDENTIFIER", "IP", "TID", "TIME", "ADDR", "ID", "STREAM_ID", "CPU", "PERIOD"})
    if "CALLCHAIN" in types:
        at += 8 + 8 * struct.unpack_from("=Q", record.bytes, at)[0]
    size = struct.unpack_from("=I", record.bytes, at)[0]
    return record.bytes[at + 4:at + 4 + size]
