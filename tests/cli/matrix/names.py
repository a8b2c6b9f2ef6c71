# SPDX-License-Identifier: MIT
"""Function totals of one recording by `perf report` and by `coati report`, and the rules for where they may differ."""
import json
import os
import re
import subprocess
from collections import defaultdict

SAMPLE = re.compile(r"^ *(-?\d+) +(\d+) +(\S+?): +([0-9a-f]+) (.*?)(?:\+0x([0-9a-f]+))? \((.*)\)$")
MMAP = re.compile(r"PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0)[^]]*\]: \S+ (.*)$")
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
EXEC = re.compile(r"PERF_RECORD_COMM exec: .*:(\d+)/\d+$")
SYNTHETIC = re.compile(r"^.*!fn_([0-9a-f]+)$")
KERNEL = "[kernel]"
STUBS = (".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt")


class Refused(Exception):
    """This machine or perf cannot; says why."""


def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if words[0] == "perf" and done.returncode < 0:
        raise Refused("perf %s died: %s" % (words[1], done.stderr.decode(errors="replace")[:120].replace("\n", " ")))
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def image_of(dso):
    """What we call a file that perf calls so."""
    dso = dso.strip()
    if dso.startswith("[kernel.kallsyms]"):
        return KERNEL
    if dso.startswith("bpf_prog_"):  # whoever has one loaded meanwhile
        return "[bpf]"
    made = re.match(r"\[JIT\] tid (\d+)$|/tmp/perf-(\d+)\.map$", dso)
    if made:  # code without a file; with a map of its names it has another name with us
        pid = made.group(1) or made.group(2)
        return "[%s pid %s]" % ("jit" if os.path.exists("/tmp/perf-%s.map" % pid) else "anon", pid)
    return os.path.basename(re.sub(r" \(deleted\)$", "", dso)) or "[unknown]"


class Elf:
    """Symbols of a file by name and by address, and where its bytes are mapped to."""

    def __init__(self, path):
        self.by_name, self.by_address = defaultdict(list), defaultdict(set)
        self.loads, self.sections, self.stubs = [], {}, {}
        for words in self.tables(path):
            for line in run("nm", *words)[1].split("\n"):
                self.add(line)
        for line in run("readelf", "-lW", path)[1].split("\n"):
            words = line.split()
            if words[:1] == ["LOAD"]:
                self.loads.append((int(words[1], 16), int(words[2], 16), int(words[4], 16)))
        for line in run("readelf", "-SW", path)[1].split("\n"):
            words = line.partition("]")[2].split()
            if len(words) > 5 and words[0].startswith("."):
                self.sections[words[0]] = int(words[2], 16), int(words[2], 16) + int(words[4], 16)

    @staticmethod
    def tables(path):
        yield ["-S", path]
        yield ["-S", "-D", path]
        yield ["-D", "--synthetic", path]
        found = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path)[1])
        if found:
            debug = "/usr/lib/debug/.build-id/%s/%s.debug" % (found.group(1)[:2], found.group(1)[2:])
            if os.path.exists(debug):
                yield ["-S", debug]

    def add(self, line):
        words = line.split(" ")
        if len(words) >= 4 and len(words[1]) > 1:
            address, size, name = int(words[0], 16), int(words[1], 16), words[3]
        elif len(words) >= 3 and words[0]:
            address, size, name = int(words[0], 16), 0, words[2]
        else:
            return
        if name.endswith("@plt"):
            self.stubs[address] = name[:-4]
            return
        for one in (name, name.split("@")[0]):
            self.by_name[one].append((address, size))
            self.by_address[address].add(one)

    def vaddr(self, offset):
        for start, address, size in self.loads:
            if start <= offset < start + size:
                return offset - start + address
        return offset


class Kernel:
    """Its symbols, as it tells them."""

    def __init__(self):
        self.by_name, self.by_address = defaultdict(list), defaultdict(set)
        with open("/proc/kallsyms", encoding="ascii") as file:
            for line in file:
                words = line.split()
                self.by_address[int(words[0], 16)].add(words[2])


class Mappings:
    """What was mapped where, as the records come by."""

    def __init__(self):
        self.of, self.elves = defaultdict(list), {}

    def feed(self, line):
        found = MMAP.search(line)
        if found:
            pid = int(found.group(1))
            start, size, offset = (int(found.group(i), 16) for i in (2, 3, 4))
            self.of[pid].append((start, start + size, offset, found.group(5)))
        found = FORK.search(line)
        if found and found.group(1) != found.group(2):
            self.of[int(found.group(1))] = list(self.of[int(found.group(2))])
        found = EXEC.search(line)
        if found:
            self.of[int(found.group(1))] = []

    def elf(self, path):
        if path not in self.elves and path.startswith("[kernel.kallsyms]"):
            self.elves[path] = Kernel()
        elif path not in self.elves:
            self.elves[path] = Elf(path) if os.path.isfile(path) else None
        return self.elves[path]

    def vaddr(self, pid, ip, dso):
        """The address in the file."""
        if dso.startswith(("[kernel", "/tmp/perf-")):
            return ip
        for start, end, offset, path in reversed(self.of[pid]):
            if start <= ip < end:
                elf = self.elf(path)
                return elf.vaddr(ip - start + offset) if elf else ip - start + offset
        return ip


class Sample:
    """All samples of one event at one address: what perf says of them."""

    def __init__(self, dso, vaddr, name, offset):
        self.dso, self.vaddr, self.name, self.offset = dso, vaddr, name, offset
        self.elf, self.since = None, 0
        self.weight, self.count = 0, 0


# ---- the rules: (what it is called, whether perf's sample s and our name fit it) ------------------------------------------

def same(s, ours):
    return s.name == ours


def is_made_up(s, ours):
    """Our name for code without a symbol: by the start of the function, which the unwind tables know, else by the section. It must
    not begin behind the address, or the section must have the address in it."""
    made = SYNTHETIC.match(ours)
    if made:
        return int(made.group(1), 16) <= s.vaddr
    start, end = s.elf.sections.get(ours.rpartition("!")[2], (0, 0)) if isinstance(s.elf, Elf) else (0, 0)
    return "!" in ours and start <= s.vaddr < end


def no_symbol(s, ours):
    """perf has no symbol and shows the bare address. We name such code by its file and function."""
    return s.name is None and is_made_up(s, ours)


def nearest_lower(s, ours):
    """perf takes the nearest lower symbol when no symbol covers the address: on code without symbols that is a wrong name. Ours
    must be made up, and the symbol that perf took must really end before the address."""
    if s.name is None or not s.elf or not is_made_up(s, ours):
        return False
    ends = [address + size for address, size in s.elf.by_name[s.name] if address == s.vaddr - s.offset and size]
    return bool(ends) and max(ends) <= s.vaddr


def label(s, ours):
    """A local symbol without a size, of the assembler: perf takes it for a function, we for a place to jump to. Ours must be made
    up, and all that is known at the address of perf's must be without a size."""
    if s.name is None or not s.elf or not is_made_up(s, ours):
        return False
    sizes = [size for address, size in s.elf.by_name[s.name] if address == s.vaddr - s.offset]
    return bool(sizes) and not any(sizes)


def alias(s, ours):
    """Several names for one address: perf and we choose each in our own way. Both names must be at that same address."""
    if s.name is None or not s.elf:
        return False
    return {s.name, ours} <= s.elf.by_address[s.vaddr - s.offset]


def version(s, ours):
    """perf keeps the version behind a name (memcpy@@GLIBC_2.14); we do not."""
    return s.name is not None and re.fullmatch(re.escape(ours) + r"@@?[A-Z][\w.]+", s.name)


def covers(s):
    """Whether the symbol that perf took has the address in it: by its own size, not by where the next one begins."""
    return any(address + size > s.vaddr for address, size in s.elf.by_name[s.name] if address == s.vaddr - s.offset)


def stub(s, ours):
    """Stubs of the linker: perf has no name for those in .plt.got, a bare "@plt" for those of indirect functions, miscounts where
    sections were left out, and lets a symbol without a size before the section, _init, reach into it. The address must be in one of
    the linker's sections, perf's symbol not, and ours must be what binutils says of the stub, or a name of the function that it
    names by address."""
    if not isinstance(s.elf, Elf) or not ours.endswith("@plt"):
        return False
    starts = [at for at in s.elf.stubs if at <= s.vaddr < at + 16]
    inside = any(start <= s.vaddr < end for name, (start, end) in s.elf.sections.items() if name in STUBS)
    if not starts or not inside or not (s.name is None or s.name.endswith("@plt") or not covers(s)):
        return False
    name = s.elf.stubs[max(starts)]
    target = re.match(r"\*ABS\*\+0x([0-9a-f]+)$", name)
    if target:
        return ours[:-4] in s.elf.by_address[int(target.group(1), 16)]
    return name.split("@")[0] == ours[:-4]


def gone(s, ours):
    """The file is no longer at its path, or another is (the whole machine is recorded, others work on it), or never was (a memfd). perf
    has then no names, but for those that it keeps copies of in a folder of its own; we have those of what is still mapped. Either
    perf has no name, or ours is made up."""
    if not s.dso.startswith("/") or (os.path.exists(s.dso) and os.stat(s.dso).st_mtime < s.since):
        return False
    return s.name is None or ours == "[%s]" % image_of(s.dso) or is_made_up(s, ours)


def no_file(s, ours):
    """Code that a process made itself, without telling anybody: perf shows the bare address, we one name for all of it."""
    return s.name is None and ours == image_of(s.dso) and ours.startswith("[anon pid ")


RULES = (no_symbol, nearest_lower, label, alias, version, stub, gone, no_file)


class Difference:
    """The totals of perf and ours: what differs without a rule is in faults."""

    def __init__(self, tool, path, since, tamper=None):
        """@since: when the recording began. @tamper changes our rows before they are compared, to see that it is found."""
        self.tool, self.path, self.since, self.tamper = tool, path, since, tamper or (lambda rows: rows)
        self.faults, self.counts = [], defaultdict(int)
        tables = self.perf_tables()
        samples = self.perf_samples()
        if sorted(tables) != sorted(samples):
            self.faults.append("perf report has the events %s, perf script %s" % (sorted(tables), sorted(samples)))
        for event, table in tables.items():
            self.compare(event, table, samples.get(event, []))
        self.counts["recordings"] += 1

    def perf_tables(self):
        """What perf report adds up: {event: {(image, name): (weight, count)}}, name None without a symbol."""
        _, text, said = run("perf", "report", "-i", self.path, "--no-children", "--no-inline", "-g", "none", "--stdio", "--no-demangle",
                            "-F", "period,sample,sym,dso", "-t", "|")
        tables, event = {}, None
        for line in text.split("\n"):
            found = re.match(r"# Samples: .* of event '(.*?)'", line)
            if found:
                event = found.group(1)
                tables[event] = defaultdict(lambda: (0, 0))
            words = line.split("|")
            if line.startswith("#") or len(words) != 4:
                continue
            name = re.sub(r"^\[.\] ", "", words[2].strip())
            key = image_of(words[3]), None if re.fullmatch("0x[0-9a-f]{16}", name) else name
            weight, count = tables[event][key]
            tables[event][key] = weight + int(words[0]), count + int(words[1])
        if not tables:
            self.faults.append("perf report shows nothing: " + said[:200])
        return tables

    def perf_samples(self):
        """The addresses behind it: {event: [Sample]}."""
        _, text, _ = run("perf", "script", "-i", self.path, "-G", "-F", "pid,event,period,ip,sym,symoff,dso", "--no-demangle",
                         "--show-mmap-events", "--show-task-events")
        maps, seen = Mappings(), defaultdict(dict)
        for line in text.split("\n"):
            found = SAMPLE.match(line)
            if not found:
                maps.feed(line)
                continue
            pid, period, event, ip, name, offset, dso = found.groups()
            vaddr = maps.vaddr(int(pid), int(ip, 16), dso)
            name = None if name == "[unknown]" else name
            key = image_of(dso), vaddr, name
            s = seen[event].setdefault(key, Sample(dso, vaddr, name, int(offset or "0", 16)))
            s.elf, s.since = maps.elf(dso), self.since
            s.weight, s.count = s.weight + int(period), s.count + 1
        return {event: list(of.values()) for event, of in seen.items()}

    def ours(self, event, by):
        status, text, said = run(self.tool, "report", "-q", "-i", self.path, "--json", "--no-inline", "--mangled", "--by", by, "-e", event)
        if status:
            self.faults.append("coati report --by %s: status %d: %s" % (by, status, said))
            return []
        return self.tamper([row for row in json.loads(text)["rows"] if row["self_samples"]])

    def differ(self, what, theirs, ours):
        for key in sorted(set(theirs) | set(ours), key=str):
            if theirs.get(key, (0, 0)) != ours.get(key, (0, 0)):
                self.faults.append("%s %s: perf has %s, we %s" % (what, key, theirs.get(key), ours.get(key)))

    def compare(self, event, table, samples):
        ours, images, our_images = defaultdict(lambda: (0, 0)), defaultdict(lambda: (0, 0)), defaultdict(lambda: (0, 0))
        for row in self.ours(event, "function"):
            add(ours, (row["image"], row["function"]), row["self"], row["self_samples"])
            add(our_images, row["image"], row["self"], row["self_samples"])
        for (image, _), (weight, count) in table.items():
            add(images, image, weight, count)
        self.differ(event + " in", images, our_images)
        self.counts["images"] += len(images)
        names = {(row["image"], int(row["vaddr"], 16)): row["address"] for row in self.ours(event, "address")}
        for s in samples:
            self.move(s, names.get((image_of(s.dso), s.vaddr)), table)
        self.differ(event + " in", {k: v for k, v in table.items() if v != (0, 0)}, ours)
        self.counts["functions"] += len(ours)
        self.counts["samples"] += sum(s.count for s in samples)

    def move(self, s, ours, table):
        """From perf's name to ours, where a rule allows it."""
        image = image_of(s.dso)
        if ours is None:
            self.faults.append("we have no address %s 0x%x (%s)" % (image, s.vaddr, s.name))
            return
        rule = next((rule for rule in (same, *RULES) if rule(s, ours)), None)
        if not rule:
            self.faults.append("%s 0x%x: perf says %s+0x%x, we %s" % (image, s.vaddr, s.name, s.offset, ours))
            return
        self.counts["addresses: " + rule.__name__] += 1
        add(table, (image, s.name), -s.weight, -s.count)
        add(table, (image, ours), s.weight, s.count)


def add(table, key, weight, count):
    before = table[key] if key in table else (0, 0)
    table[key] = before[0] + weight, before[1] + count
