"""Rejects paraphrases of the glossary's terms, and warns about sentences that may be hard to read.

usage: words.py [ROOT | --kinds [ROOT]]. Prints one line per paraphrase in READMEs, guides, comments and messages, exit
1 if there is one; docs/design/glossary.md lists the paraphrases. With --kinds, prints sentences of a suspicious form
instead, and exits with 0.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import source

GLOSSARY = "docs/design/glossary.md"
_GAP = r"""(?:\s+(?:\*(?!/)|\#|//)?\s*|\s*"\s*\n\s*"\s*)"""  # between words, also across lines of a comment or a string
_PROSE = (".md", ".h", ".c", ".py", ".pyi", ".cmake", ".txt")
_ARTICLE = "file|folder|repository|patch|model|commit|snapshot|script|sandbox|run|command|caller|server|test"

# The problem of a sentence -> a pattern of its form.
KINDS = {
    "the subject comes after two clauses": r"^(?:Where|If|When|What|As|Since|Whatever)\b[^,;:]+, (?:where|if|when|as|since|while|what|which)\b",
    "the subject is a clause": r"^(?:What|Whatever|Whoever) (?:is|are|was|has|comes|lies|stands|can|cannot|may|must)\b",
    "a chain of 'that'": r"(?:\bthat\b[^.;]*){4}",
    "an article is missing": rf"\b(?:of|in|by|with|from|to|on) (?:{_ARTICLE})(?=[.,;)]|$)",
    "a fragment without its noun": r"^(?:of|by|from|likewise|the same|as) [^.:=>]{0,60}$",
    "a clause for a noun": r"\b(?:comes? to\b|came of|become of|where there (?:is|are) (?:none|no)\b|is told\b)",
    "a riddle": r"\b(?:of (?:it|them) that|that of|of those that|what it is|as it (?:is|was|lies|stands)|so does|likewise of|but for)\b",
}


def has_phrases(path: Path) -> bool:
    """Whether the check covers the prose of this file (a path relative to the root)."""
    if path.parts[0] == "prompts" or path.name in ("words.py", "LICENSE", Path(GLOSSARY).name):
        return False
    return path.suffix in _PROSE and (path.parts[0] != "tests" or path.suffix == ".md")


def paraphrases(root: Path) -> list[tuple[list[str], re.Pattern[str], str]]:
    """(the words of a paraphrase, its pattern, the glossary's term)."""
    part = source.read(root / GLOSSARY).partition("| say | not |")[2] if (root / GLOSSARY).is_file() else ""
    found = []
    for term, phrases in re.findall(r"^\| (?!-)([^|]+) \| ([^|]+) \|$", part, re.M):
        for phrase in phrases.replace('"', "").split("; "):
            words = phrase.lower().split()
            found.append((words, re.compile(rf"\b{_GAP.join(map(re.escape, words))}\b", re.I), term))
    return found


def sentences(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each sentence of Markdown, or of C and Python comments."""
    if path.suffix == ".md":
        blocks = re.finditer(r"(?:^(?![#|`\s]).+\n?)+", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    else:
        blocks = re.finditer(r'/\*.*?\*/|(?:^\s*# .*\n)+|"""[^"]+"""', text, re.M | re.S)
    for block in blocks:
        words = re.sub(r'^[\s*#/"-]+|[*/"]+$', " ", block[0], flags=re.M)
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", " ".join(words.split())):
            yield source.line_of(text, block.start()), sentence


def prose(root: Path) -> Iterator[tuple[Path, str]]:
    """The files that are checked, relative to the root, with their texts."""
    for path in source.files(root):
        if has_phrases(path.relative_to(root)):
            yield path.relative_to(root), source.read(path)


def check(root: Path) -> Iterator[str]:
    """All paraphrases."""
    rules = paraphrases(root)
    for path, text in prose(root):
        lowered = text.lower()
        for words, rule, term in rules:
            for match in rule.finditer(text) if all(word in lowered for word in words) else ():
                found = " ".join(re.sub(r'[*#"\s]+', " ", match[0]).split())
                yield f"{path}:{source.line_of(text, match.start())}: {found!r} paraphrases a term; say: {term}"


def warn(root: Path) -> Iterator[str]:
    """All sentences of a suspicious form."""
    for path, text in prose(root):
        for line, sentence in sentences(path, text):
            for kind, form in KINDS.items():
                if re.search(form, sentence):
                    yield f"{path}:{line}: {kind}: {sentence[:160]}"


if __name__ == "__main__":
    if "--kinds" in sys.argv[1:]:
        sys.argv.remove("--kinds")
        for finding in warn(Path(sys.argv[1]) if sys.argv[1:] else source.ROOT):
            print(finding)
    else:
        source.run(check)
