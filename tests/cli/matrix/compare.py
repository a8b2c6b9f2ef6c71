# SPDX-License-Identifier: MIT
"""Compares what `coati dump` shows of a recording with what perf shows of it: record by record, field by field."""
import re
import json
import subprocess

from . import peer, tracefs

MARKS = {"hypervisor": -32, "kernel": -128, "user": -512, "user deferred": -640, "guest": -2048,
         "guest kernel": -2176, "guest user": -2560}
# which sample bit each field of a sample needs; the others are checked whenever perf shows them
BITS = {"ip": "IP", "addr": "ADDR", "period": "PERIOD", "callchain": "CALLCHAIN", "regs_user": "REGS_USER",
        "regs_intr": "REGS_INTR", "phys_addr": "PHYS_ADDR", "data_src": "DATA_SRC", "cpu": "CPU",
        "data_page_size": "DATA_PAGE_SIZE", "code_page_size": "CODE_PAGE_SIZE", "cgroup": "CGROUP",
        "stack_size": "STACK_USER", "value": "READ", "time_ns": "TIME"}
MOST = 3  # differences that are told of one recording


class Differ(Exception):
    """Says where the two disagree."""


def number(v):
    return int(v, 16) if isinstance(v, str) else v


def address(v):
    return MARKS[v] & 0xFFFFFFFFFFFFFFFF if v in MARKS else int(v, 16)


def ours_of(tool, path, *more):
    done = subprocess.run([tool, "dump", "-i", path, *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode or done.stderr:
        raise Differ("coati dump ends with %d and says: %s" % (done.returncode, done.stderr.decode().strip()))
    return done.stdout.decode("utf-8", "replace").split("\n")[:-1]


def as_perf(name, v):
    """A value of our JSON in the form in which peer.py has it."""
    if v is None or isinstance(v, bool):
        return v
    if name == "callchain":
        return [address(a) for a in v]
    if name in ("regs_user", "regs_intr"):
        return {reg: int(value, 16) for reg, value in v.items() if reg != "abi"}
    if name == "namespaces" or not isinstance(v, str):
        return v
    return int(v, 16) if v.startswith("0x") and name not in ("comm", "name", "path") else v


def check_fields(theirs, ours, types):
    for name, want in theirs.fields.items():
        has = name in ours
        if types is not None and name in BITS:
            if has != (BITS[name] in types) and not (name == "time_ns" and want is None):
                raise Differ("%s is %s, but perf's sample type is %s" % (name, ours.get(name), sorted(types)))
            if not has:
                continue
        if name in ("period", "ip", "addr", "cpu") and not has and theirs.type == "SAMPLE" and types is None:
            continue
        if isinstance(want, bool):
            got = ours.get(name, False)
        else:
            got = as_perf(name, ours.get(name))
        if name in ("regs_user", "regs_intr") and want is None and not got:
            continue
        if got != want:
            raise Differ("%s is %s, perf says %s" % (name, got, want))


def check_tracepoint(theirs, ours, types):
    if not types or "RAW" not in types or "READ" in types or ":" not in (theirs.event or ""):
        return 0
    want = tracefs.values_of(theirs.event, peer.raw_payload(theirs, types))
    got = ours.get("fields", {})
    for name, value in want.items():
        mine = got.get(name)
        if isinstance(value, int) and isinstance(mine, str):
            mine = int(mine, 16)
        if mine != value:
            raise Differ("field %s is %s, the payload has %s" % (name, mine, value))
    return len(want)


def same_word(ours, theirs):
    """perf names functions of the kernel; where it guesses a value that the record does not have, we print "?"."""
    if ours == theirs.replace("(nil)", "0x0"):
        return True
    if ours.startswith("0xffffffff") and re.fullmatch(r"[A-Za-z_][\w.]*", theirs):
        return True
    key, _, value = ours.partition("=")
    return theirs.startswith(key + "=") and (value == "?" or value.startswith("0xffffffff"))


def check_text(theirs, line):
    """The line of text ends as perf prints the tracepoint."""
    want = theirs.trace.split()
    got = line.split()[-len(want):] if want else []
    if len(got) != len(want) or not all(same_word(a, b) for a, b in zip(got, want)):
        raise Differ("text is %s, perf prints %s" % (line.strip(), theirs.trace.strip()))


def check_one(theirs, ours, types):
    if theirs.type is not None and ours["type"] != theirs.type:
        raise Differ("it is a %s, perf says %s" % (ours["type"], theirs.type))
    if bytes.fromhex(ours["raw"]) != theirs.bytes[8:]:
        raise Differ("its bytes differ: %s, perf has %s" % (ours["raw"][:80], theirs.bytes[8:].hex()[:80]))
    if theirs.event and ours.get("event") != theirs.event:
        raise Differ("event %s, perf says %s" % (ours.get("event"), theirs.event))
    check_fields(theirs, ours, types)


def where(i, r):
    return "record %d (%s of %d bytes)" % (i, r.type or r.number, len(r.bytes))


class Comparison:
    """Of one recording. `faults` are sentences; `counts` says how much was looked at."""

    def __init__(self, tool, path):
        self.faults, self.path = [], path
        self.counts = {"records": 0, "samples": 0, "tracepoint fields": 0, "texts": 0}
        try:
            self.compare(tool)
        except Differ as fault:
            self.faults.append(str(fault))

    def compare(self, tool):
        kernel, own = peer.records_of(self.path)
        if not kernel:
            why = peer.why_not_read(self.path)
            raise peer.Unread("perf cannot read its own recording: " + why) if why else Differ("perf shows no record")
        shown = [json.loads(line) for line in ours_of(tool, self.path, "--json", "--raw")]
        ours_kernel = [r for r in shown if "bytes" not in r]
        ours_own = [r for r in shown if "bytes" in r]
        self.pairs(kernel, ours_kernel, peer.sample_types_of(self.path))
        self.pairs(own, ours_own, {})
        self.texts(tool, [r for r in kernel if r.type == "SAMPLE"])

    def pairs(self, theirs, ours, types):
        for i, (a, b) in enumerate(zip(theirs, ours)):
            try:
                bits = types.get(a.event) if a.event else None
                check_one(a, b, bits)
                self.counts["tracepoint fields"] += check_tracepoint(a, b, bits)
            except Differ as fault:
                self.faults.append("%s: %s" % (where(i, a), fault))
                if len(self.faults) >= MOST:
                    raise Differ("and perhaps more") from fault
            self.counts["records"] += 1
            self.counts["samples"] += a.type == "SAMPLE"
        if len(theirs) != len(ours):
            raise Differ("%d records of %s, perf shows %d" % (len(ours), "perf's own" if not types else "the kernel",
                                                             len(theirs)))

    def texts(self, tool, samples):
        if not any(r.trace for r in samples):
            return
        lines = [line for line in ours_of(tool, self.path, "-T", "SAMPLE") if not line.startswith("        0x")
                 and not line.startswith("        (")]
        for i, (theirs, line) in enumerate(zip(samples, lines)):
            try:
                if theirs.trace:
                    check_text(theirs, line)
                    self.counts["texts"] += 1
            except Differ as fault:
                raise Differ("sample %d: %s" % (i, fault)) from fault
