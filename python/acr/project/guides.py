"""Finds commands in files for people and agents: AGENTS.md, CONTRIBUTING.rst, README.

Markdown and reStructuredText are read line by line, as data: shell blocks and inline code, the headings above them and
the sentence before them. The text may be hostile, so each step takes bounded, linear time.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = re.compile(
    r"((AGENTS?|CLAUDE|GEMINI|CONTRIBUTING|DEVELOP(MENT|ING|ERS?)?|HACKING|TESTING|README)(\.(md|markdown|rst|txt))?"
    r"|copilot-instructions\.md)",
    re.IGNORECASE,
)
_FOR_AGENTS = re.compile(r"(.*/)?(AGENTS?|CLAUDE|GEMINI|copilot-instructions)(\.md)?", re.IGNORECASE)
_FOLDERS = ("", ".github", "docs", "doc")  # folders of guides whose commands start in the root
_MAX_FILES = 12
_MAX_DEPTH = 3
_MAX_TEXT = 256 * 1024
_MAX_COMMANDS = 60  # maximum number of commands per file
_MAX_COMMAND = 1000
_SHELLS = {"", "sh", "bash", "shell", "zsh", "console", "shell-session", "shellsession", "terminal", "text", "txt", "plaintext", "none"}  # fmt: skip
_FENCE = re.compile(r"\s*(?:[-*+]\s+)?(`{3,}|~{3,})\s*\{?\.?([\w+-]*)")
_DIRECTIVE = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|prompt)::\s*([\w+-]*)")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_UNDERLINE = re.compile(r"([=\-~^\"'#*+.`])\1{2,}\s*")
_PROMPT = re.compile(r"^\s*(?:\([\w.-]+\)\s*)?[$%]\s+")
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`]+)\1(?!`)")
_TESTS = re.compile(r"(?<![a-z])(tests?|testing|tested|pytest|unittests?|test suite|verif\w+|validat\w+|checks?)(?![a-z])", re.IGNORECASE)  # fmt: skip
_WARNING = re.compile(r"(?<![a-z])(do not|don['’]t|never|avoid|deprecated|obsolete|no longer)(?![a-z])", re.IGNORECASE)
_NOT_THIS = re.compile(
    rf"{_WARNING.pattern}|(?<![a-z])(not|instead of|rather than|without|unlike)(?![a-z])", re.IGNORECASE
)
_NOT_THAT = re.compile(
    r"\s*(is|are|does|do|will|has|was|were|must|should|can)(n['’]t| not| never|\b[^.;]{0,20}\b(deprecated|obsolete|broken|removed))",
    re.IGNORECASE,
)


def guide_files(paths: list[str]) -> list[str]:
    """The guides, those for agents first: the files in the root, and the files for agents in the folders below."""
    found = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        is_near = folder in _FOLDERS or (folder.count("/") < _MAX_DEPTH and _FOR_AGENTS.fullmatch(name))
        if is_near and _NAMES.fullmatch(name):
            found.append(path)
    return sorted(found, key=lambda path: (not is_for_agents(path), path.count("/"), path))[:_MAX_FILES]


def is_for_agents(path: str) -> bool:
    """Whether a file was written for agents, who run its commands unchanged."""
    return _FOR_AGENTS.fullmatch(path) is not None


def commands(path: str, text: str) -> list[tuple[str, str, bool]]:
    """(command, folder, whether its heading or sentence is about tests); commands about tests come first."""
    folder = path.rpartition("/")[0]
    found = []
    for command, is_of_tests in _Reader(text[:_MAX_TEXT], 1 + path.endswith(".rst")).read():
        if len(found) == _MAX_COMMANDS:
            break
        if len(command) <= _MAX_COMMAND:
            found.append((command, "" if folder in _FOLDERS else folder, is_of_tests))
    return sorted(found, key=lambda row: not row[2])


class _Reader:
    """Reads the text line by line; the attributes describe the place of the current line."""

    def __init__(self, text: str, marks: int) -> None:
        self._marks = marks  # minimum number of backticks that mark inline code
        self._lines = re.sub(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL).splitlines()
        self._headings: list[tuple[int, str]] = []  # headings around the line, outermost first
        self._underlines: list[str] = []  # ordered by first use, and therefore by level
        self._paragraph: list[str] = []
        self._before = ""  # the paragraph before the current block

    def read(self) -> Iterator[tuple[str, bool]]:
        """(command, whether it is about tests)."""
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            fence, directive = _FENCE.match(line), _DIRECTIVE.match(line)
            if fence or directive or self._is_indented(line):
                yield from self._end_paragraph()
                block, at = (
                    self._fenced(at, fence[1])
                    if fence
                    else self._indented(at + bool(directive), _indent(line) - (not directive))
                )
                language = (fence[2] if fence else directive[1] if directive else "").lower()
                yield from self._of_block(block) if language in _SHELLS else ()
                continue
            at += 1
            if self._take_heading(line):
                continue
            if not line.strip() or re.match(r"\s*([-*+]|\d+[.)])\s", line):
                yield from self._end_paragraph()
            if line.strip():
                self._paragraph.append(line)
        yield from self._end_paragraph()

    def _is_indented(self, line: str) -> bool:
        """Whether an indented block begins here: after an empty line and a colon."""
        is_first = not self._paragraph and bool(line.strip())
        return is_first and line.startswith(("  ", "\t")) and self._before.endswith(":") and "`" not in line

    def _fenced(self, at: int, fence: str) -> tuple[list[str], int]:
        end = at + 1
        while end < len(self._lines) and not self._lines[end].lstrip().startswith(fence):
            end += 1
        return self._lines[at + 1 : end], end + 1

    def _indented(self, at: int, outer: int) -> tuple[list[str], int]:
        end = at
        while end < len(self._lines) and (not self._lines[end].strip() or _indent(self._lines[end]) > outer):
            end += 1
        lines = [line for line in self._lines[at:end] if not re.match(r"\s+:[\w-]+:", line)]  # no directive options
        return lines, max(end, at)

    def _take_heading(self, line: str) -> bool:
        marked, underline = _HEADING.match(line), _UNDERLINE.fullmatch(line)
        if underline and not self._paragraph:
            return True  # a rule, or the line above a title
        if marked:
            level, title = len(marked[1]), marked[2]
        elif underline and len(self._paragraph) == 1:
            if underline[1] not in self._underlines:
                self._underlines.append(underline[1])
            level, title = self._underlines.index(underline[1]) + 1, self._paragraph[0]
        else:
            return False
        self._headings = [*(other for other in self._headings if other[0] < level), (level, title)]
        self._paragraph, self._before = [], ""
        return True

    def _is_of_tests(self, text: str) -> bool:
        return any(_TESTS.search(title) for _, title in self._headings) or _TESTS.search(text) is not None

    def _is_warned(self) -> bool:
        return any(_WARNING.search(title) for _, title in self._headings)

    def _end_paragraph(self) -> Iterator[tuple[str, bool]]:
        """The inline code of the paragraph, except commands that the text advises against."""
        text = " ".join(map(str.strip, self._paragraph))
        self._paragraph = []
        if not text:
            return
        self._before = text
        end, is_refused, is_of_tests = 0, False, self._is_of_tests(text)
        for code in _INLINE.finditer(text):
            clause = re.split(r"[.;,!?|:]\s|\|", text[end : code.start()][-_MAX_COMMAND:])[-1]
            is_list = end > 0 and re.fullmatch(r"\W*(or|nor|and)?\W*", clause) is not None
            is_refused = (is_refused and is_list) or _NOT_THIS.search(clause) is not None
            end = code.end()
            if (
                len(code[1]) >= self._marks
                and not is_refused
                and not self._is_warned()
                and not _NOT_THAT.match(text[end : end + 60])
            ):
                yield _PROMPT.sub("", code[2].strip(), count=1), is_of_tests

    def _of_block(self, lines: list[str]) -> Iterator[tuple[str, bool]]:
        sentence = re.split(r"[.!?]\s", self._before)[-1]
        if self._is_warned() or _WARNING.search(sentence):
            return
        for command, comment in _shell_lines(lines):
            if not _WARNING.search(comment):
                yield command, self._is_of_tests(f"{sentence} {comment}")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _shell_lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    """(command, the comments before and after it), with the folder and variables that earlier lines have set."""
    has_prompts = any(map(_PROMPT.match, lines))
    folder, variables, comment, is_cloned = "", "", "", False
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).split("\n"):
        if has_prompts and not _PROMPT.match(line):
            continue  # output of a command
        line = _PROMPT.sub("", line, count=1).strip()
        changed = re.fullmatch(r"(?:cd|pushd)\s+([\w./-]+)", line)
        exported = re.fullmatch(r"export\s+(\w+=[\w./:,-]*)", line)
        if line.startswith("#"):
            comment = line
        elif changed:  # the folder that was just cloned is the project itself
            is_inside = not is_cloned and not changed[1].startswith(("/", ".."))
            folder, is_cloned = f"cd {changed[1]} && " if is_inside else "", False
        elif exported:
            variables += f"{exported[1]} "
        elif line:
            is_cloned = line.startswith(("git clone", "gh repo clone"))
            yield f"{folder}{variables}{line}"[: _MAX_COMMAND + 1], f"{comment} {line.partition(' #')[2]}"
            comment = ""
