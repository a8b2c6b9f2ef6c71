# SPDX-License-Identifier: MIT
"""Results in words: survivors as diffs, the table of scores, and the reasons why some mutants change nothing."""
import collections
import difflib
import re

import mutations
import sample

SCORED = ("killed", "alive", "unreached")
BEGIN, END = "<!-- mutants: begin (scripts/mutate --write) -->", "<!-- mutants: end -->"


class Equivalents:
    """The file of mutants that change nothing: "KEY  reason", a reason may go on in indented lines."""

    def __init__(self, path):
        self.path, self.reasons = path, {}
        key = None
        try:
            with open(path, encoding="utf-8") as f:
                lines = f.read().splitlines()
        except FileNotFoundError:
            lines = []
        for number, line in enumerate(lines, 1):
            m = re.match(r"([0-9a-f]{12})  (\S.*)$", line)
            if m:
                key = m.group(1)
                self.reasons[key] = m.group(2)
            elif line.startswith((" ", "\t")) and key:
                self.reasons[key] += " " + line.strip()
            elif line.strip() and not line.startswith("#"):
                raise sample.TableError(f"{path}:{number}: not of the form KEY  reason")


def diff(root, m):
    text = sample.read(root, m.path)
    old, new = text.splitlines(), mutations.apply(m, text).splitlines()
    lines = difflib.unified_diff(old, new, f"a/{m.path}", f"b/{m.path}", n=3, lineterm="")
    return "\n".join(f"{line} {m.function}()" if line.startswith("@@") else line for line in lines)


class Table:
    """Counts by theme and by directory. A mutant that several groups drew counts once in each, and once in all."""

    COLUMNS = ("killed", "alive", "unreached", "same", "reasoned", "stillborn")

    def __init__(self):
        self.rows = collections.OrderedDict()
        self.drawn = {}

    def add(self, group, m, status):
        if group.kind == "theme":
            self._count(("theme", group.name), m, status)
        self._count(("directory", sample.directory_of(m.path)), m, status)
        self._count(("", "all"), m, status)

    def _count(self, row, m, status):
        if (row, m.key, m.path) in self.drawn:
            return
        self.drawn[row, m.key, m.path] = True
        self.rows.setdefault(row, collections.Counter())[status] += 1

    @staticmethod
    def score(c):
        scored = c["killed"] + c["alive"] + c["unreached"]
        return 100 * c["killed"] / scored if scored else None

    def lines(self):
        order = {"theme": 0, "directory": 1, "": 2}
        head = ("", "", "scored", "killed", "score", "not reached", "equivalent: code, reason", "not compiled")
        rows = [head]
        for (kind, name), c in sorted(self.rows.items(), key=lambda r: (order[r[0][0]], r[0][0] == "directory" and r[0][1])):
            score = self.score(c)
            rows.append((kind, name, str(c["killed"] + c["alive"] + c["unreached"]), str(c["killed"]),
                         "-" if score is None else f"{score:.1f} %", str(c["unreached"]),
                         f"{c['same']}, {c['reasoned']}", str(c["stillborn"])))
        widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
        form = lambda r: "| " + " | ".join(w.ljust(n) if i < 2 else w.rjust(n)
                                           for i, (w, n) in enumerate(zip(r, widths))) + " |"
        rule = "|" + "|".join("-" * (n + 1) + ("-" if i < 2 else ":") for i, n in enumerate(widths)) + "|"
        return [form(rows[0]), rule, *map(form, rows[1:])]


def write(path, lines):
    """Puts the table between its marks in a page."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise sample.TableError(f"{path}: the marks \"{BEGIN}\" and \"{END}\" are not there")
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)
