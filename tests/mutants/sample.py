# SPDX-License-Identifier: MIT
"""Which mutants are tried.

All mutants of src/ are ranked by a hash of the seed and their key. Each theme, and each directory, takes the first so
many of its own, each class of mutants in turn. A change of one line moves the mutants of that line only; the others
keep their rank.
"""
import collections
import functools
import os
import re

import mutations

PER_THEME = 60
PER_DIRECTORY = 14  # of either so many are scored; those that are equivalent or do not compile come on top

Group = collections.namedtuple("Group", "kind name wanted mutants")


class TableError(Exception):
    pass


class Themes:
    """The table of themes: which theme a function belongs to."""

    def __init__(self, path):
        self.path = path
        self.names = []
        self.entries = []  # theme, end of path, functions, line number, matched
        with open(path, encoding="utf-8") as f:
            self.lines = f.read().splitlines()
        for number, line in enumerate(self.lines, 1):
            self._line(number, line.split("#")[0].strip())

    def _line(self, number, line):
        if not line:
            return
        theme, colon, files = line.partition(":")
        if not colon or not files.split():
            raise TableError(f"{self.path}:{number}: not of the form THEME: FILE[=FUNCTIONS]...")
        if theme not in self.names:
            self.names.append(theme)
        for entry in files.split():
            file, _, functions = entry.partition("=")
            self.entries.append([theme, file, re.compile(functions or ".*"), number, False])

    def of(self, path, function):
        for entry in self.entries:
            if ("/" + path).endswith(("/" + entry[1], "-" + entry[1])) and entry[2].fullmatch(function):
                entry[4] = True
                return entry[0]
        return None

    def all_of(self, path, function):
        """As of(), but every one, in the order of the file."""
        found = []
        for entry in self.entries:
            if ("/" + path).endswith("/" + entry[1]) and entry[2].fullmatch(function):
                entry[4] = True
                found += [entry[0]] if entry[0] not in found else []
        return found

    def check(self):
        for _, file, functions, number, matched in self.entries:
            if not matched:
                raise TableError(f"{self.path}:{number}: no function of src/ matches {file}={functions.pattern}")


def sources(root):
    for folder, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), root)


@functools.lru_cache(maxsize=None)
def read(root, path):
    """The text of a file as it was when it was first asked for: a run is not disturbed by edits."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def ranked(mutants, seed):
    """By rank, the classes in turn."""
    lanes = {cls: [] for cls in mutations.CLASSES}
    for m in mutants:
        lanes[m.cls].append(m)
    places = []
    for lane, members in enumerate(lanes.values()):
        members.sort(key=lambda m: (mutations.digest(str(seed), m.key), m.path))
        places += [(i, lane, m) for i, m in enumerate(members)]
    return [m for _, _, m in sorted(places, key=lambda p: p[:2])]


def directory_of(path):
    return path.split("/")[1]


def groups(root, themes, seed, headers, shown):
    """The groups with their mutants by rank: of all C files, and of these headers. Programs that run in the kernel are
    left out: what is built here has no part in them. Each line of the table @shown must match a function."""
    by_theme = collections.defaultdict(list)
    by_directory = collections.defaultdict(list)
    for path in sources(root):
        if path.endswith(".h") and path not in headers or path.endswith(".bpf.c"):
            continue
        for m in mutations.mutants_of(path, read(root, path)):
            by_directory[directory_of(path)].append(m)
            shown.all_of(path, m.function)
            theme = themes.of(path, m.function)
            if theme:
                by_theme[theme].append(m)
    themes.check()
    shown.check()
    return [Group("theme", t, PER_THEME, ranked(by_theme[t], seed)) for t in themes.names] + [
        Group("directory", d, PER_DIRECTORY, ranked(by_directory[d], seed)) for d in sorted(by_directory)
    ]
