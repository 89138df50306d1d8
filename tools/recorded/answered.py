"""What is true of a recorded answer, found without the program: its edits, and their code in files.

The answer is read by one pattern and its quotes are looked for by the literature's rule: whole
lines, each without its outer blanks. Nothing here decides where an edit goes; it only counts.
"""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path

import trees
from changes import is_test_file

GROUP = re.compile(
    r"<file>(?P<file>.*?)</file>.*?<original>(?P<original>.*?)</original>\s*"
    r"<patched>(?P<patched>.*?)</patched>",
    re.DOTALL | re.IGNORECASE,
)
_ELISION = re.compile(r"\s*(?:#\s*)?(?:\.\.\.|…)\s*(?:#.*)?|\s*#.*(?:\.\.\.|…)\s*")
_INDENTED = re.compile(r"\\n[ ]*")  # in strings, as ast.dump writes them
_NEAR = 0.8
_REACH = 60


@dataclass(frozen=True)
class Edit:
    """One group of an answer as written: the file named, the code quoted, its replacement."""

    file: str
    original: str
    patched: str


@dataclass(frozen=True)
class Quote:
    """Where an edit's quote stands: path or "" where no file fits, places, best window's ratio."""

    path: str
    places: int
    ratio: float
    line: int
    elided: bool

    @property
    def near(self) -> bool:
        """Whether the quoted code exists in the file, exactly, nearly or with parts left out."""
        return self.places > 0 or self.ratio >= _NEAR or self.elided


@dataclass
class Files:
    """The files of one commit, read with git; answers are kept."""

    repository: Path
    commit: str
    _names: list[str] = field(default_factory=list)
    _texts: dict[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """All paths of the commit. Errors: GitError."""
        if not self._names:
            rows = trees.git(
                self.repository, "ls-tree", "-r", "-z", "--name-only", self.commit
            )
            self._names = rows.decode("utf-8", "surrogateescape").split("\0")[:-1]
        return self._names

    def text(self, path: str) -> str:
        """The content of a file. Errors: GitError."""
        if path not in self._texts:
            raw = trees.git(
                self.repository, "cat-file", "blob", f"{self.commit}:{path}"
            )
            self._texts[path] = raw.decode("utf-8", "replace")
        return self._texts[path]

    def find(self, name: str) -> str:
        """The path that a name stands for: equal, else the only one that ends in it, else ""."""
        if name in self.names():
            return name
        tail = "/" + name.lstrip("./")
        ends = [path for path in self.names() if ("/" + path).endswith(tail)]
        return ends[0] if len(ends) == 1 else ""


def edits_of(answer: str) -> list[Edit]:
    """The complete groups of an answer, test files left out."""
    found = [
        Edit(m["file"].strip(), m["original"], m["patched"])
        for m in GROUP.finditer(answer)
    ]
    return [edit for edit in found if not is_test_file(edit.file)]


def is_cut(answer: str) -> bool:
    """Whether the answer begins more edits than it completes."""
    begun = len(re.findall(r"^\s*<original>", answer, re.MULTILINE | re.IGNORECASE))
    return begun > len(GROUP.findall(answer))


def bare_lines(text: str) -> list[str]:
    """The lines without outer blanks, without empty ones at both ends."""
    lines = [line.strip() for line in text.splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def count_places(file: list[str], quote: list[str]) -> int:
    """How often the lines of `quote` stand in those of `file`."""
    n = len(quote)
    if n == 0:
        return 0
    starts = (i for i, line in enumerate(file) if line == quote[0])
    return sum(1 for i in starts if file[i : i + n] == quote)


def best_window(file: list[str], quote: list[str]) -> tuple[float, int]:
    """(ratio, 1-based line) of the window of as many lines that is most like the quote."""
    wanted = "\n".join(quote)
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(wanted)
    best, line = 0.0, 0
    known = set(quote)
    for i in range(max(1, len(file) - len(quote) + 1)):
        window = file[i : i + len(quote)]
        if best >= _NEAR and not known.intersection(window):
            continue
        matcher.set_seq1("\n".join(window))
        if matcher.real_quick_ratio() <= best or matcher.quick_ratio() <= best:
            continue
        ratio = matcher.ratio()
        if ratio > best:
            best, line = ratio, i + 1
    return best, line


def is_elided(file: list[str], quote: list[str]) -> bool:
    """Whether lines were left out of the quote: the others stand in the file in order.

    Marked by an elision, the gaps may be of any length; unmarked, the whole within _REACH lines.
    """
    marked = any(_ELISION.fullmatch(line) for line in quote)
    code = [line for line in quote if line and not _ELISION.fullmatch(line)]
    starts = [i for i, line in enumerate(file) if code and line == code[0]]
    reach = len(file) if marked else _REACH
    windows = (iter(file[i : i + reach]) for i in starts)
    return len(code) > 1 and any(all(c in rest for c in code) for rest in windows)


def quote_of(files: Files, edit: Edit) -> Quote:
    """The facts of one edit's quote. Errors: GitError."""
    path = files.find(edit.file)
    quote = bare_lines(edit.original)
    if not path or not quote:
        return Quote(path, 0, 0.0, 0, False)
    lines = [line.strip() for line in files.text(path).splitlines()]
    places = count_places(lines, quote)
    if places:
        return Quote(path, places, 1.0, 0, False)
    ratio, line = best_window(lines, quote)
    return Quote(path, 0, ratio, line, is_elided(lines, quote))


def _tree(text: str) -> str | None:
    try:
        return _INDENTED.sub(r"\\n", ast.dump(ast.parse(text)))
    except (SyntaxError, ValueError):
        return None


def same_but_layout(ours: str, theirs: str) -> bool:
    """Whether two texts differ in blank lines and indentation only, and mean the same."""
    if [n for n in bare_lines(ours) if n] != [n for n in bare_lines(theirs) if n]:
        return False
    tree = _tree(ours)
    return tree is not None and tree == _tree(theirs)
