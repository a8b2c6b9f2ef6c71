# SPDX-License-Identifier: MIT
"""Every mutant of a source file, in five classes.

operator   an operator becomes another one, or a condition its opposite
boundary   < becomes <=, > becomes >=, and the other way round
constant   a number becomes its neighbor, true becomes false
drop       a statement is left out
swap       two neighboring arguments of a call change places

Some changes are known to change nothing, and are not made: the boundary in a maximum or minimum (if (a > b) b = a;), the
boundary between two values that were compared for equality just before (if (a != b) return a < b ...), and the
arguments of a call in which their order does not matter (the size and number of an allocation).

A mutant is known by its key, a hash of the function's name, the line's text and the change. A key has no path and no
line number: it stays the same when the code moves to another line, file or directory.
"""
import collections
import hashlib
import re

from ctext import Source

CLASSES = ("operator", "boundary", "constant", "drop", "swap")

BINARY = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<",
    "&&": "||", "||": "&&", "==": "!=", "!=": "==", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=",
    "&=": "|=", "<<=": ">>=", ">>=": "<<=", "^=": "|=",
}
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
STEP = {"++": "--", "--": "++"}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
HEADS = {"if", "while", "for", "switch"}
JUMPS = {"return", "break", "continue", "goto"}
TYPE_WORDS = {
    "struct", "union", "enum", "const", "static", "volatile", "register", "extern", "_Atomic", "typeof", "__typeof__",
    "int", "unsigned", "signed", "char", "short", "long", "float", "double", "bool", "void", "_Static_assert",
    "static_assert", "typedef",
}
NOT_CALLS = HEADS | {"sizeof", "return", "alignof", "_Alignof", "offsetof", "case", "defined", "typeof", "__typeof__",
                     "_Static_assert", "static_assert", "va_arg", "_Generic", "__attribute__"}
PRODUCTS = {"coati_alloc_array": 1, "calloc": 1, "coati_realloc_array": 2, "reallocarray": 2}
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)$")
FLOAT = re.compile(r"([0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)([fFlL]?)$")

Mutant = collections.namedtuple("Mutant", "key path function begin line cls what start end new")


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _spaced(source, t):
    """A binary operator: the formatter puts blanks around it."""
    before, after = source.text[t.start - 1], source.text[t.end]
    return before in " \t\n" and after in " \t\n"


def _neighbors(text):
    """The numbers beside a literal, in its own notation."""
    m = NUMBER.match(text)
    if not m:
        m = FLOAT.match(text)
        return [f"{float(m.group(1)) + 1}{m.group(2)}"] if m and "." in m.group(1) else []
    body, suffix = m.groups()
    is_hex = body[:2].lower() == "0x"
    value = int(body, 16) if is_hex else int(body, 8 if len(body) > 1 and body[0] == "0" else 10)
    form = "{:#x}{}" if is_hex else "{}{}"
    return [form.format(v, suffix) for v in (value + 1, value - 1) if v >= 0]


class Finder:
    """Walks one function body and collects the changes: (start, end, new text, class, words)."""

    def __init__(self, source, first, last):
        self.source, self.tokens = source, source.tokens
        self.first, self.last = first, last
        self.found = []
        self.declared = set()  # tokens that belong to declarations
        self._statements()
        for i in range(first + 1, last):
            self._token(i)

    def _add(self, start, end, new, cls, what):
        self.found.append((start, end, new, cls, what))

    # ---- statements

    def _statements(self):
        i = self.first + 1
        while i < self.last:
            i = self._statement(i)

    def _statement(self, i):
        """Looks at what begins at token i; returns where the next statement begins."""
        t = self.tokens[i]
        if t.text in ("{", "}", ";", "else", "do") or t.kind == "string":
            return i + 1
        if t.text in HEADS and self.tokens[i + 1].text == "(":
            close = self.tokens[i + 1].mate
            if t.text == "if" and not self._has_opposite(i + 2, close):
                a, b = self.tokens[i + 1], self.tokens[close]
                self._add(a.end, b.start, f"!({self.source.text[a.end:b.start]})", "operator", "condition negated")
            return close + 1
        if t.text in ("case", "default"):
            while self.tokens[i].text != ":":
                i += 1
            return i + 1
        if t.kind == "word" and self.tokens[i + 1].text == ":":
            return i + 2
        return self._simple(i)

    def _has_opposite(self, i, close):
        """Another change does the same: a single comparison for equality, or a single negation."""
        texts = [t.text for t in self.tokens[i:close]]
        if "&&" in texts or "||" in texts:
            return False
        return texts[0] == "!" or "==" in texts or "!=" in texts

    def _end_of(self, i):
        while self.tokens[i].text != ";":
            if self.tokens[i].text in ("(", "[", "{") and self.tokens[i].mate:
                i = self.tokens[i].mate
            i += 1
            if i >= self.last:
                return None
        return i

    def _is_declaration(self, i, end):
        t, after = self.tokens[i], self.tokens[i + 1]
        if t.text in TYPE_WORDS:
            return True
        if t.kind != "word" or t.text in JUMPS:
            return False
        if t.text.startswith("_cleanup") or after.kind == "word":
            return True
        return after.text == "*" and self.tokens[i + 2].kind == "word" and end > i + 2

    def _simple(self, i):
        end = self._end_of(i)
        if end is None:
            return self.last
        if self._is_declaration(i, end):
            self.declared.update(range(i, end))
            return end + 1
        t = self.tokens[i]
        texts = {x.text for x in self.tokens[i:end]}
        acts = t.text in JUMPS or texts & ASSIGN or texts & set(STEP) or "(" in texts
        if acts and self.source.text[t.start:t.start + 6] != "(void)":
            self._drop(t.start, self.tokens[end].end)
        return end + 1

    def _drop(self, start, end):
        # as many lines as before, so that nothing behind it moves
        self._add(start, end, "{}" + "\n" * self.source.text.count("\n", start, end), "drop", "statement dropped")

    # ---- single tokens

    def _token(self, i):
        t = self.tokens[i]
        if t.kind == "mark":
            self._mark(i, t)
        elif t.kind == "number" and not self._is_array_size(i):
            for new in _neighbors(t.text):
                self._add(t.start, t.end, new, "constant", f"{t.text} -> {new}")
        elif t.text in ("true", "false"):
            new = "false" if t.text == "true" else "true"
            self._add(t.start, t.end, new, "constant", f"{t.text} -> {new}")
        elif t.kind == "word" and t.text not in NOT_CALLS and self.tokens[i + 1].text == "(":
            self._call(i + 1, PRODUCTS.get(t.text))

    def _is_array_size(self, i):
        return i in self.declared and self.tokens[i - 1].text == "[" and self.tokens[i + 1].text == "]"

    def _operand(self, i, step):
        """The operand before or behind a comparison: names, numbers, members, calls and brackets, as text."""
        words = []
        while self.first < i < self.last:
            t = self.tokens[i]
            if t.text in ("(", "[") if step > 0 else t.text in (")", "]"):
                words += [x.text for x in self.tokens[i:t.mate + step:step]]
                i = t.mate + step
            elif t.kind in ("word", "number") and t.text not in JUMPS or t.text in ("->", ".", "&", "*") and words:
                words.append(t.text)
                i += step
            else:
                break
        return "".join(words if step > 0 else reversed(words)), i

    def _is_settled(self, i):
        """The boundary at token i does not matter: see the top of this file."""
        left, _ = self._operand(i - 1, -1)
        right, end = self._operand(i + 1, 1)
        behind = "".join(t.text for t in self.tokens[end:end + 24])
        before = "".join(t.text for t in self.tokens[max(self.first, i - 48):i])
        pairs = ((left, right), (right, left))
        if any(behind.startswith((f"?{a}:{b};", f"?{a}:{b})", f"?{a}:{b},", f"){a}={b};")) for a, b in pairs):
            return True
        return any(f"({a}!={b})" in before or f"&&{a}!={b})" in before or f"{a}!={b}?" in before for a, b in pairs)

    def _mark(self, i, t):
        if t.text in BOUNDARY and _spaced(self.source, t):
            if self._is_settled(i):
                return
            self._add(t.start, t.end, BOUNDARY[t.text], "boundary", f"{t.text} -> {BOUNDARY[t.text]}")
        elif t.text in BINARY and _spaced(self.source, t):
            self._add(t.start, t.end, BINARY[t.text], "operator", f"{t.text} -> {BINARY[t.text]}")
        elif t.text in STEP:
            self._add(t.start, t.end, STEP[t.text], "operator", f"{t.text} -> {STEP[t.text]}")
        elif t.text in "!~-" and self.source.text[t.end] not in " \t\n=":
            self._add(t.start, t.end, "", "operator", f"{t.text} removed")

    def _call(self, opening, product):
        close = self.tokens[opening].mate
        commas, i = [opening], opening + 1
        while i < close:
            if self.tokens[i].text in ("(", "[", "{"):
                i = self.tokens[i].mate
            elif self.tokens[i].text == ",":
                commas.append(i)
            i += 1
        commas.append(close)
        spans = [(self.tokens[a + 1].start, self.tokens[b - 1].end) for a, b in zip(commas, commas[1:]) if b > a + 1]
        for number, ((a, b), (c, d)) in enumerate(zip(spans, spans[1:]), 1):
            text = self.source.text
            if text[a:b] != text[c:d] and number != product:
                self._add(a, d, text[c:d] + text[b:c] + text[a:b], "swap", f"arguments {number} and {number + 1} swapped")


def mutants_of(path, text):
    """All mutants of one file, in the order of the text."""
    source = Source(text)
    for function, first, last in source.functions:
        seen, nth = {}, collections.Counter()
        found = sorted(set(Finder(source, first, last).found))
        count, begin = collections.Counter(), source.line_of(source.tokens[first].start)
        for start, end, new, cls, what in found:
            number = source.line_of(start)
            line = " ".join(source.line_text(number).split())
            if number not in seen:
                seen[number] = nth[line]
                nth[line] += 1
            # the same change twice in a line: the first and the second one differ
            change = (number, cls, what)
            key = digest(function, line, str(seen[number]), cls, what, str(count[change]))[:12]
            count[change] += 1
            yield Mutant(key, path, function, begin, number, cls, what, start, end, new)


def apply(mutant, text):
    return text[:mutant.start] + mutant.new + text[mutant.end:]
