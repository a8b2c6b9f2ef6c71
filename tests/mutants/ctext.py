# SPDX-License-Identifier: MIT
"""C source text as tokens, and the functions in it.

A tokenizer is enough for mutation: the tree is laid out by clang-format, so that a function body opens with a brace
behind a parenthesis at the outermost level, and a binary operator has blanks on both sides.
"""
import bisect
import re

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f\v]+|\\\n)
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:/\*.*?\*/|\\\n|[^\n])*)
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<char>[uUL]?'(?:\\.|[^'\\\n])+')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
OPEN = {"(": ")", "[": "]", "{": "}"}
CLOSE = set(OPEN.values())


class Token:
    __slots__ = ("kind", "text", "start", "end", "mate")

    def __init__(self, kind, text, start):
        self.kind, self.text, self.start, self.end = kind, text, start, start + len(text)
        self.mate = None  # index of the bracket that belongs to this one

    def __repr__(self):
        return self.text


class Source:
    """The text of one file: its tokens without blanks, comments and directives, and its function bodies."""

    def __init__(self, text):
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.tokens = [
            Token(m.lastgroup, m.group(), m.start())
            for m in TOKEN.finditer(text)
            if m.lastgroup not in ("space", "comment", "directive")
        ]
        self._pair()
        self.functions = list(self._find_functions())

    def _pair(self):
        stack = []
        for i, t in enumerate(self.tokens):
            if t.text in OPEN and t.kind == "mark":
                stack.append(i)
            elif t.text in CLOSE and t.kind == "mark" and stack:
                other = stack.pop()
                t.mate, self.tokens[other].mate = other, i

    def _name_before(self, closing):
        """The function whose parameter list ends at this parenthesis; attributes behind it are skipped."""
        while closing is not None and self.tokens[closing].text == ")":
            before = (self.tokens[closing].mate or 0) - 1
            if before < 0 or self.tokens[before].kind != "word":
                return None
            if self.tokens[before].text != "__attribute__":
                return self.tokens[before].text
            closing = before - 1
        return None

    def _find_functions(self):
        i = 0
        while i < len(self.tokens):
            t = self.tokens[i]
            if t.text == "{" and t.mate:
                name = self._name_before(i - 1) if i else None
                if name:
                    yield name, i, t.mate
                i = t.mate
            i += 1

    def line_of(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def line_text(self, number):
        return self.lines[number - 1]
