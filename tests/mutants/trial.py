# SPDX-License-Identifier: MIT
"""One mutant: compiled, linked, and shown to the tests that reach it.

Outcomes: "stillborn" (the compiler refuses it, or warns), "killed" (a test fails, twice, and passes with the original
code), "unreached" (no test runs the line), "same" (the optimized machine code is that of the original) and "alive".
"""
import os
import re
import shutil
import time

import folders
import mutations
import sample

PLAIN_MS = 9000  # of tests in the plain build, as long as they usually take
ASAN_MS = 4000  # of tests under ASan and UBSan
ASAN_TIMES = 4  # a test takes so many times as long there
ASAN_LEAST_MS = 80  # to start a test there, and to look for leaks when it ends
LEAST_LIMIT_S = 1
SHOWN_MS = 1000  # a test of the kernel suite that is shown by name
CLI_S = 30  # a case of tests/cli
DATA_KIB = 8 << 20
GUARD_S = 200  # for a whole run, on a machine that is very busy
PATIENCE = 4  # a test that ran too long must do so again with that many times its limit

TOO_LONG = "not done after"  # as the test runner says it
FAILED = re.compile(r"^not ok \d+ - (\S+).*(?:\n# (.*))?", re.MULTILINE)


class Bench:
    """What a trial needs: the build folders, the maps, the cage."""

    def __init__(self, root, plain, asan, maps, cage, shown):
        self.root, self.plain, self.asan = root, plain, asan
        self.maps, self.cage, self.shown = maps, cage, shown
        self.unreliable = set()
        self.tool = os.path.join(plain.path, "coati")

    def run(self, program, names, limits):
        """Runs tests one after the other, up to the first that fails."""
        listed = os.path.join(self.cage.work, "only")
        with open(listed, "w", encoding="utf-8") as f:
            f.writelines(f"{n} {limits[n]}\n" for n in names)
        env = {"COATI_TOOL": self.tool, "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
               "UBSAN_OPTIONS": "halt_on_error=1"}
        if not program.endswith("asan") and not program.startswith(self.asan.path):
            env["DATA_KIB"] = str(DATA_KIB)
        return self.cage.run([program, "--stop", "--only", listed], GUARD_S, env)

    def run_case(self, tool, name, seconds):
        """Runs a case of tests/cli with this tool. Returns how it failed, or None. What the case needs must be there:
        the tool itself is asked for some of it, and a mutant that says no would skip the case."""
        cases = os.path.join(self.root, "tests/cli/cases")
        env = {"COATI_TOOL": tool}
        if os.path.exists(f"{cases}/{name}.needs"):
            env["COATI_TEST_MUST"] = ",".join(folders.read(f"{cases}/{name}.needs").split())
        status, said = self.cage.run([os.path.join(self.root, "tests/cli/run"), "--jobs", "1", name], seconds, env)
        if status is None:
            return TOO_LONG
        failed = FAILED.search(said)
        return (failed.group(2) or "it failed") if failed else None

    def fails(self, program, name, limits):
        status, said = self.run(program, [name], limits)
        return status is None or bool(FAILED.search(said)) or not re.search(r"^1\.\.1$", said, re.MULTILINE)


def lines_of(m, text):
    return range(m.line, m.line + text.count("\n", m.start, m.end) + 1)


class Trial:
    def __init__(self, bench, m):
        self.bench, self.m = bench, m
        self.text = sample.read(bench.root, m.path)
        self.mutated = mutations.apply(m, self.text)
        self.work = os.path.join(bench.cage.work, "mutant")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def outcome(self):
        start = time.monotonic()
        result = self._outcome()
        result["seconds"] = round(time.monotonic() - start, 1)
        return result

    def _outcome(self):
        made = self.bench.plain.compile(self.m.path, self.mutated, self.work)
        if isinstance(made, str):
            return {"status": "stillborn", "why": made.split("error: ")[-1][:200]}
        if not made:
            return {"status": "unreached", "why": "no test program contains the file"}
        lines = lines_of(self.m, self.text)
        reached = {s: r.reaching(self.m.path, lines, self.m.begin, made) for s, r in self.bench.maps.items()}
        killer = self._plain(made, reached)
        if killer:
            return {"status": "killed", **killer}
        if self.bench.plain.same_code(self.m.path, self.mutated, self.text, self.work):
            return {"status": "same"}
        killer = self._sanitized(reached.get("unit", []))
        shown = 0
        if not killer:
            killer, shown = self._shown(made)
        if killer:
            return {"status": "killed", **killer}
        if not shown and not any(reached.values()):
            return {"status": "unreached", "why": "no test runs the line"}
        return {"status": "alive", "tests": sum(map(len, reached.values())) + shown}

    def _shown(self, made):
        """Tests that a table names for the function, up to the first that fails; and how many were run."""
        nr = 0
        for words in self.bench.shown.all_of(self.m.path, self.m.function):
            suite, *names = words.split()
            if not self.bench.plain.has_any(suite, made):
                continue
            killer = self._cases(made, names) if suite == folders.CLI else self._named(made, suite, names)
            nr += len(names)
            if killer:
                return killer, nr
        return None, nr

    def _named(self, made, suite, names):
        program = os.path.join(self.work, suite)
        self.bench.plain.link(suite, made, program)
        return self._run(self.bench.plain, suite, program, [n for n in names if (suite, n) not in self.bench.unreliable])

    def _cases(self, made, names):
        """With the mutant in the tool. A case finds its other programs beside the tool's folder."""
        program = os.path.join(self.work, "cli", folders.TOOL)
        os.makedirs(os.path.dirname(program), exist_ok=True)
        for beside in ("src", "tests"):
            link = os.path.join(self.work, beside)
            if not os.path.lexists(link):
                os.symlink(os.path.join(self.bench.plain.path, beside), link)
        self.bench.plain.link(folders.CLI, made, program)
        for name in names:
            how = self.bench.run_case(program, name, CLI_S)
            seconds = CLI_S * (PATIENCE if how == TOO_LONG else 1)
            if not how or not self.bench.run_case(program, name, seconds):
                continue
            if self.bench.run_case(self.bench.tool, name, seconds):
                raise folders.BuildError(f"the case {name} fails here without a mutant, too")
            return {"killer": f"{folders.CLI}: {name}", "how": how[:200]}
        return None

    def _plain(self, made, reached):
        left = PLAIN_MS
        for suite, names in reached.items():
            chosen = self._within(suite, names, left)
            if not chosen or not self.bench.plain.has_any(suite, made):
                continue
            program = os.path.join(self.work, suite)
            self.bench.plain.link(suite, made, program)
            killer = self._run(self.bench.plain, suite, program, chosen)
            if killer:
                return killer
            left -= sum(self._ms(suite, n) for n in chosen)
        return None

    def _sanitized(self, names):
        chosen = self._within("unit", names, ASAN_MS, ASAN_TIMES, ASAN_LEAST_MS)
        made = self.bench.asan.compile(self.m.path, self.mutated, self.work, "asan", ["-Wno-error"])
        if not chosen or isinstance(made, str) or not made:
            return None
        program = os.path.join(self.work, "asan")
        self.bench.asan.link("unit", made, program)
        killer = self._run(self.bench.asan, "unit", program, chosen, ASAN_TIMES)
        return dict(killer, asan=True) if killer else None

    def _ms(self, suite, name):
        known = self.bench.maps[suite].tests.get(name) if suite in self.bench.maps else None
        return max(5, known["ms"]) if known else SHOWN_MS

    def _within(self, suite, names, budget_ms, times=1, least_ms=0):
        """As many tests as fit into the budget; a test that does not fit is left out, shorter ones are not."""
        chosen = []
        for n in names:
            ms = max(least_ms, self._ms(suite, n) * times)
            if ms <= budget_ms and (suite, n) not in self.bench.unreliable:
                chosen.append(n)
                budget_ms -= ms
        return chosen

    def _run(self, folder, suite, program, names, times=1):
        """The test that fails; each failure is tried again, and with the original code."""
        limits = {n: max(LEAST_LIMIT_S, -(-self._ms(suite, n) * 8 * times // 1000)) for n in names}
        while names:
            status, said = self.bench.run(program, names, limits)
            failed = FAILED.search(said)
            if not failed and status == 0:
                return None
            if not failed:  # the test program itself ended early, or its time was up
                if status is None and self.bench.run(program, names, limits)[0] is not None:
                    continue
                if self.bench.run(folder.program(suite), names, limits)[0] != 0:
                    raise folders.BuildError(f"{folder.program(suite)} fails without a mutant:\n{said[-1000:]}")
                return {"killer": f"{suite}: the test program", "how": f"status {status}"}
            name, how = failed.group(1), failed.group(2) or ""
            if TOO_LONG in how:
                limits[name] *= PATIENCE
            if self.bench.fails(program, name, limits):
                if not self.bench.fails(folder.program(suite), name, limits):
                    return {"killer": f"{suite}: {name}", "how": how[:200]}
                self.bench.unreliable.add((suite, name))
            names = names[names.index(name) + 1:]
        return None
