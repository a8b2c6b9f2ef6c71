# SPDX-License-Identifier: MIT
"""Build folders, and programs in which one source file is a mutant.

The tree is built once in each folder. A mutant is compiled into an object of its own and linked with the objects of the
others; nothing in the folder changes, so there is nothing to restore after it.
"""
import filecmp
import json
import os
import re
import shlex
import shutil
import subprocess

SUITES = {"unit": "tests/unit/unit-tests", "kernel": "tests/kernel/kernel-tests"}
TOOL = "coati"  # some tests of the kernel suite run it, which is never a mutant there; the cases of "cli" do, where it is one
CLI = "cli"
# lld takes a third of the time of gold, which is part of binutils and quicker than the usual one.
LINKER = "-fuse-ld=lld" if shutil.which("ld.lld") else "-fuse-ld=gold"
PACK = 48  # so many neighboring objects are put into one; only the packs of a mutant are taken apart
HEADER_USERS_MAX = 8  # a header that more objects include takes too long to rebuild


class BuildError(Exception):
    pass


def run(command, cwd=None, env=None):
    p = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors="replace", check=False)
    return p.returncode, p.stdout


def must(command, cwd=None, env=None):
    status, said = run(command, cwd, env)
    if status:
        tail = "\n".join(said.splitlines()[-40:])
        raise BuildError(f"{shlex.join(command[:8])} failed:\n{tail}")
    return said


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class Folder:
    def __init__(self, path, root, compiler, options, wanted=(*SUITES, CLI)):
        self.path, self.root, self.wanted = path, root, wanted
        self.compiler, self.options = compiler, options
        self.commands = {}  # object -> compile command
        self.objects_of = {}  # source -> objects
        self.links = {}  # suite -> (command without objects, objects)
        self.packs = {}  # suite -> [(object of several, its members)]
        self.suites = []
        self.included = None  # header -> objects

    def build(self, jobs):
        stamp = f"{self.path}/configured-as"
        wanted = "\n".join([self.root, self.compiler, *self.options])
        if not os.path.exists(f"{self.path}/build.ninja") or not os.path.exists(stamp) or read(stamp) != wanted:
            shutil.rmtree(self.path, ignore_errors=True)
            env = dict(os.environ, CC=("ccache " if shutil.which("ccache") else "") + self.compiler)
            must(["meson", "setup", self.path, self.root, *self.options], env=env)
            with open(stamp, "w", encoding="utf-8") as f:
                f.write(wanted)
        must(["ninja", "-C", self.path, f"-j{jobs}", *self._targets()])
        self._read_commands()
        for suite in self.suites:
            self._read_link(suite, self.target(suite))

    def _targets(self):
        # ninja says "NAME: RULE" for everything that can be built
        there = {line.split(":")[0] for line in must(["ninja", "-C", self.path, "-t", "targets", "all"]).splitlines()}
        self.suites = [s for s, program in SUITES.items() if program in there and s in self.wanted]
        extra = [t for t in there if t == TOOL or t.startswith("tests/") and t.endswith((".so", "live-lives", "touch-pages"))]
        targets = [SUITES[s] for s in self.suites] + (sorted(extra) if "kernel" in self.suites else [])
        if CLI in self.wanted and f"cli/{TOOL}" in there:
            self.suites.append(CLI)
            targets += [t for t in sorted(there) if re.fullmatch(r"tests/(cli/[^/.]+|json-check)", t)]
            targets += [f"cli/{TOOL}", TOOL]
        return targets

    def _read_commands(self):
        with open(f"{self.path}/compile_commands.json", encoding="utf-8") as f:
            for entry in json.load(f):
                source = os.path.relpath(os.path.join(self.path, entry["file"]), self.root)
                self.commands[entry["output"]] = shlex.split(entry["command"])
                self.objects_of.setdefault(source, []).append(entry["output"])

    @staticmethod
    def target(suite):
        return f"cli/{TOOL}" if suite == CLI else SUITES[suite]

    def _read_link(self, suite, target):
        """The link command, with the members that are taken from each archive in its place."""
        lines = must(["ninja", "-C", self.path, "-t", "commands", target]).splitlines()
        members = {}  # archive -> its objects
        for line in lines:
            m = re.search(r"ar csrDT? (\S+\.a) (.*)$", line)
            if m:
                members[m.group(1)] = m.group(2).split()
        link = shlex.split(lines[-1])
        trial = [w if w != target else f"{self.path}/traced" for w in link]
        # the trace alone: warnings would come between its lines
        traced = subprocess.run([*trial, "-fuse-ld=gold", "-Wl,-t"], cwd=self.path, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=True).stdout
        os.unlink(f"{self.path}/traced")
        used = {}
        for line in traced.splitlines():
            m = re.match(r"(.*\.a)\((.*)\)$", line)
            if m:
                used.setdefault(m.group(1), []).append(os.path.basename(m.group(2)))
        words = []
        for w in link:
            if w not in members:
                words.append(w)
                continue
            words += [o for o in members[w] if os.path.basename(o) in used.get(w, [])]
        self.links[suite] = words
        self._pack(suite)

    def _pack(self, suite):
        """Links neighboring objects into one each, so that a link opens few files."""
        objects = [w for w in self.links[suite] if w.endswith(".o")]
        self.packs[suite] = []
        for at in range(0, len(objects), PACK):
            members, pack = objects[at:at + PACK], os.path.join(self.path, f"pack-{suite}-{at}.o")
            must(["ld", "-r", "-S", "-o", pack + ".new", *members], cwd=self.path)
            os.replace(pack + ".new", pack)
            self.packs[suite].append((pack, members))

    # ---- one mutant

    def has_any(self, suite, made):
        return any(o in made for o in self.links.get(suite, ()))

    def users_of(self, path, suites=None):
        """The objects to compile again when this file changes: all that are linked into one of these suites."""
        if path.endswith(".c"):
            objects = self.objects_of.get(path, [])
        else:
            objects = self._including(path)
        linked = {w for suite, words in self.links.items() if not suites or suite in suites for w in words}
        return [o for o in objects if o in linked]

    def _including(self, path):
        if self.included is None:
            self.included, current = {}, None
            for line in must(["ninja", "-C", self.path, "-t", "deps"]).splitlines():
                if line and line[0] != " ":
                    current = line.split(":")[0]
                elif line.strip():
                    file = os.path.relpath(os.path.join(self.path, line.strip()), self.root)
                    self.included.setdefault(file, []).append(current)
        return self.included.get(path, [])

    def _command(self, obj, source, out, extra):
        """The compile command of an object, for another source and output."""
        words, skip = [], False
        for w in self.commands[obj]:
            if w in ("-o", "-MF", "-MQ", "-c"):
                skip = True
            elif skip:
                skip = False
            elif w not in ("-MD", "ccache"):
                words.append(w)
        where = os.path.join(self.path, self.commands[obj][-1])
        return [words[0], *extra[:1], *words[1:], *extra[1:], "-o", out, "-c", source or where]

    def compile(self, path, text, work, kind="o", extra=()):
        """Compiles what a changed file is part of. Returns {object: file}, or the compiler's words when it fails."""
        made, source = {}, None
        if path.endswith(".c"):
            source = target = os.path.join(work, os.path.basename(path))
            first = "-I."
        else:
            target = os.path.join(work, "include", os.path.relpath(path, "src"))
            first = f"-I{work}/include"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)
        for obj in self.users_of(path):
            made[obj] = os.path.join(work, f"{obj.replace('/', '_')}.{kind}")
            status, said = run(self._command(obj, source, made[obj], [first, *extra]), cwd=self.path)
            if status:
                errors = [line for line in said.splitlines() if "error:" in line]
                return errors[0] if errors else said
        return made

    def same_code(self, path, text, original, work):
        """Whether the change makes no difference to the machine code, optimized and without symbols."""
        versions = []
        for kind, body in (("new", text), ("old", original)):
            made = self.compile(path, body, work, kind, ["-O2", "-g0", "-Wno-error"])
            if isinstance(made, str):
                return False
            for file in made.values():
                must(["strip", "--strip-unneeded", "-R", ".comment", file])
            versions.append(made)
        return all(filecmp.cmp(versions[0][o], versions[1][o], shallow=False) for o in versions[0])

    def _packed(self, suite, made):
        """The words of a link, with packs in place of their members where no member is a mutant."""
        into = {}  # member -> what stands for it, once
        for pack, members in self.packs[suite]:
            if not any(o in made for o in members):
                into.update(dict.fromkeys(members))
                into[members[0]] = pack
        return [into.get(w, w) for w in self.links[suite] if into.get(w, w)]

    def link(self, suite, made, program):
        """Links a suite with the new objects in place of the old ones."""
        words = [made.get(w, w) for w in self._packed(suite, made)]
        words[words.index(self.target(suite))] = program
        listed = program + ".args"
        with open(listed, "w", encoding="utf-8") as f:
            f.write("\n".join(shlex.quote(w) for w in words[1:]))
        status, said = run([words[0], f"@{listed}", LINKER], cwd=self.path)
        if status:
            raise BuildError(f"linking {suite} with a mutant failed:\n{said[-2000:]}")

    def program(self, suite):
        return os.path.join(self.path, self.target(suite))
