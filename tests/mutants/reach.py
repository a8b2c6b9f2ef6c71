# SPDX-License-Identifier: MIT
"""Which tests reach which line: a map that is made once, and then only for tests that are new or changed.

The tree is built with clang so that each basic block leaves a mark (reach.c), and each test runs alone. The line table
of the program tells which lines each block has.
"""
import array
import bisect
import hashlib
import json
import os
import re
import shutil

import folders

FLAGS = "-fsanitize-coverage=bb,no-prune,trace-pc-guard,pc-table"
OPTIONS = ["-Doptimization=0", "-Ddebug=false", "-Db_lundef=false"]
CHUNK = 40
LIMIT_S = 120
CPU_S = 6  # a test that takes longer is too slow for mutants

ON_CPU = 2  # how many times its CPU time a test may take: what is longer, the machine had other work
WAITING_MS = 1000  # for tests that wait, on top of that

TESTS = re.compile(r"^TEST(?:_LIMIT)?\((\w+)", re.MULTILINE)
ROW = re.compile(r"0x([0-9a-f]{16})\s+(\d+)\s+\d+\s+(\d+)")


def file_hash(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def tests_in(folder):
    """Test name -> hash of the file that it is in, and file name -> its tests."""
    found, files = {}, {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".c"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            files[name] = TESTS.findall(text)
            found.update(dict.fromkeys(files[name], hashlib.sha256(text.encode()).hexdigest()[:16]))
    return found, files


def read_lines(program, root, build):
    """The line table: for each file below src/, its rows (address, line), in order."""
    said = folders.must(["llvm-dwarfdump", "--debug-line", program])
    rows, folders_, files = [], {}, {}
    name = None
    for line in said.splitlines():
        if line.startswith("0x"):
            m = ROW.match(line)
            if m:
                path = files.get(int(m.group(3)))
                if path:
                    rows.append((int(m.group(1), 16), path, int(m.group(2))))
        elif line.startswith("debug_line["):
            folders_, files = {}, {}
        elif line.startswith("include_directories["):
            number, path = re.match(r"include_directories\[\s*(\d+)\] = \"(.*)\"", line).groups()
            folders_[int(number)] = path
        elif line.startswith("file_names["):
            number = int(re.match(r"file_names\[\s*(\d+)\]", line).group(1))
        elif line.strip().startswith("name:"):
            name = line.split('"')[1]
        elif line.strip().startswith("dir_index:"):
            place = os.path.join(build, folders_.get(0, ""), folders_.get(int(line.split(":")[1]), ""), name)
            path = os.path.relpath(os.path.normpath(place), root)
            if path.startswith("src/"):
                files[number] = path
    rows.sort()
    return rows


class Reach:
    """The map of one suite."""

    def __init__(self, state, suite, folder, cage, root):
        self.base = os.path.join(state, f"reach-{suite}")
        self.suite, self.folder, self.cage, self.root = suite, folder, cage, root
        self.tests = {}  # name -> {"stamp", "ms", "ok", "bits"}
        self.masks = {}  # (path, line) -> mask of blocks
        self.files = {}  # test file -> its tests, which may call functions of headers that leave no marks there

    def load(self, src_hash, say):
        """Reads the map, and makes what is missing in it."""
        try:
            with open(self.base + ".json", encoding="utf-8") as f:
                self.tests = json.load(f)
        except FileNotFoundError:
            pass
        hashes, self.files = tests_in(os.path.join(self.root, "tests", self.suite))
        stamps = {t: f"{src_hash} {h}" for t, h in hashes.items()}
        self.tests = {t: v for t, v in self.tests.items() if stamps.get(t) == v["stamp"]}
        _, said = self.cage.run([self.folder.program(self.suite), "--list"], 60)
        wanted = [t for t in said.split() if t in stamps and t not in self.tests]
        for at in range(0, len(wanted), CHUNK):
            say(f"reach: {self.suite} tests {at + 1}-{min(at + CHUNK, len(wanted))} of {len(wanted)}")
            self._run(wanted[at:at + CHUNK], stamps)
            self._save()
        self._read_blocks()
        for t in self.tests.values():
            t["bits"] = int(t["bits"], 16)

    def _save(self):
        with open(self.base + ".new", "w", encoding="utf-8") as f:
            json.dump(self.tests, f)
        os.replace(self.base + ".new", self.base + ".json")

    def _run(self, names, stamps):
        program, work = self.folder.program(self.suite), os.path.join(self.cage.work, "reach")
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        os.chmod(work, 0o777)
        lines = []
        for i, name in enumerate(names):
            with open(f"{work}/{i}.only", "w", encoding="utf-8") as f:
                f.write(name + "\n")
            lines.append(f"COATI_REACH={work}/{i}.hits {program} --slow 0 --only {work}/{i}.only >{work}/{i}.tap 2>&1")
        with open(f"{work}/all.sh", "w", encoding="utf-8") as f:
            f.write(f"umask 0\nulimit -t {CPU_S}\n" + "\n".join(lines) + "\n")
        self.cage.run(["sh", f"{work}/all.sh"], LIMIT_S * len(names))
        for i, name in enumerate(names):
            self.tests[name] = dict(self._result(f"{work}/{i}"), stamp=stamps[name])

    @staticmethod
    def _result(base):
        tap, hits = "", b""
        if os.path.exists(base + ".tap"):
            with open(base + ".tap", encoding="utf-8", errors="replace") as f:
                tap = f.read()
        if os.path.exists(base + ".hits"):
            with open(base + ".hits", "rb") as f:
                hits = f.read()
        # byte i is bit i: most significant first in the text, so the last block comes first
        bits = int(hits[::-1].translate(bytes.maketrans(b"\0\1", b"01")) or b"0", 2)
        took = re.search(r"^# slow: ([0-9.]+) s, ([0-9.]+) s of CPU", tap, re.MULTILINE)
        wall_ms, cpu_ms = (int(float(s) * 1000) for s in took.groups()) if took else (1000, 1000)
        return {"ms": min(wall_ms, ON_CPU * cpu_ms + WAITING_MS), "bits": f"{bits:x}",
                "ok": bool(re.search(r"^ok ", tap, re.MULTILINE)) and "# SKIP" not in tap}

    def _read_blocks(self):
        """Which blocks each line is part of."""
        program, work = self.folder.program(self.suite), self.cage.work
        self.cage.run([program, "--list"], 60, {"COATI_REACH": f"{work}/none", "COATI_REACH_PCS": f"{work}/pcs"})
        pcs = array.array("Q")
        with open(f"{work}/pcs", "rb") as f:
            pcs.frombytes(f.read())
        order = sorted(range(len(pcs)), key=pcs.__getitem__)
        addresses = [pcs[i] for i in order]
        blocks = {}
        for address, path, line in read_lines(program, self.root, self.folder.path):
            at = bisect.bisect_right(addresses, address) - 1
            if at >= 0:
                blocks.setdefault((path, line), set()).add(order[at])
        self.masks = {place: sum(1 << b for b in found) for place, found in blocks.items()}

    def reaching(self, path, lines, first, built):
        """The tests that reach one of the lines, those that are quick and special first. Lines without code of their
        own, such as those of an initializer, belong to what is above them, down to line @first. Test files themselves
        have no marks: the tests of those that are @built with the mutant, as a header is, are shown it, too."""
        mask, above = 0, lines[0]
        for line in lines:
            mask |= self.masks.get((path, line), 0)
        while not mask and above > first:
            above -= 1
            mask = self.masks.get((path, above), 0)
        direct = {t for b in built for t in self.files.get(os.path.basename(b)[:-2], ())}
        found = [(t["ms"] // 20, t["bits"].bit_count(), name) for name, t in self.tests.items()
                 if t["ok"] and (t["bits"] & mask or name in direct)]
        return [name for _, _, name in sorted(found)]


def open_folder(state, root, suites):
    """The folder of the instrumented build of these suites; its options name files of the state folder."""
    work = os.path.join(state, "reach")
    os.makedirs(work, exist_ok=True)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reach.c")
    marks, only = os.path.join(work, "reach.o"), os.path.join(work, "only")
    folders.must(["clang", "-O2", "-fPIC", "-fvisibility=hidden", "-c", source, "-o", marks])
    with open(only, "w", encoding="utf-8") as f:
        f.write("src:*src/*\nfun:*\n")
    args = f"{FLAGS} -fsanitize-coverage-allowlist={only} -gline-tables-only"
    return folders.Folder(os.path.join(work, "build"), root, "clang",
                          [*OPTIONS, f"-Dc_args={args}", f"-Dc_link_args={marks}"], suites)
