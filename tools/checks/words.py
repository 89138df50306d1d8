"""Refuses turns of phrase that stop a reader.

usage: words.py [ROOT]; one line per finding, exit 1 if there is one. READMEs, comments, help and error texts are read,
not the tests' code nor what a model is shown from prompts/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import source

# What stops a reader -> the field's words. A blank stands for the gap between words, also across lines of a comment or
# of a string.
PHRASES = {
    r"(?:gone|goes|going|go|went) on with": "resume, continue",
    r"same command goes on": "rerun the same command to resume",
    r"(?:count|hold|serve|matter|suffice)s not": "is ignored, does not",
    r"(?:is|are) not any more": "was removed, was truncated",
    r"(?<!user\sshould\s)(?<!model\s)(?<!user\s)(?<!helper\s)(?<!writer\s)(?<!try\s)(?<!role\s)"
    r"(?:is|are|was|were|be|been) told": "print, report, show, give",
    r"told apart": "distinguish",
    r"told so": "say what is said",
    r"so (?:long|many|much)(?! (?:as|that))": "name the unit: SECONDS, at most N tokens",
    r"(?:is|are|was|were|be) held for": "judge, reject",
    r"(?:is|are|was|were|be) looked at": "check, sample, read",
    r"(?:is|are|was|were|be) taken to be": "is assumed to be",
    r"for good": "permanent, permanently",
    r"(?:fails?|failed|failures?) for the moment": "transient",
    r"(?:that|which) may pass": "transient",
    r"failures? (?:that|which) pass(?:es)?": "a transient failure",
    r"(?:is|are|was) none of": "is not one of, was not started by this program",
    r"(?:that|which|what) (?:is|are|was) none": "is not one, is malformed",
    r"(?:what|there) (?:is|was) (?:there )?then|(?:is|are) there then": "what exists by then",
    r"(?:is|are) as \d+": "is raised to",
    r"(?<!here\s)(?:is|are|was) no (?!longer|more|less|way|need|such|other|better|shorter|deeper|later)[a-z]+": "is not a",
    r"(?:goes|go|went) before (?:it|both|that|them|the|what)": "takes precedence over",
    r"takes? at once": "name the size",
    r"what (?:is|was) said": "the answer, the message",
    r"(?:comes?|came) of (?:it|them|that)": "the result, the verdict",
    r"goes by chance": "depends on randomness",
    r"lets? nobody": "refuse, rate limited",
    r"the dearest": "the most expensive",
    r"(?:is|are) written nowhere": "is never written to disk",
    r"begun with another": "was started with",
    r"has nothing to do": "does not apply",
    r"to others the": "make private",
    r"(?:something|anything|nothing) else than": "other than",
    r"(?:does|do) not suffice": "is too small",
    r"(?:is|are) allowed is over": "--max-time reached",
    r"since (?:these|it|they) could not be": "these failed",
    r"something else each time": "is not deterministic",
    r"(?:take|takes|taking|in) (?:the )?place of (?:its|their|the) own": "override",
    r"\bas that is\b": "because",
}
_GAP = r"""(?:\s+(?:\*(?!/)|\#|//)?\s*|\s*"\s*\n\s*"\s*)"""
_PHRASE = {re.compile(rf"\b(?:{old.replace(' ', _GAP)})\b"): new for old, new in PHRASES.items()}
_PROSE = (".md", ".h", ".c", ".py", ".pyi", ".cmake", ".txt")


def has_phrases(path: Path) -> bool:
    """Whether phrases are looked for in a file, given relative to the root."""
    if path.parts[0] == "prompts" or path.name in ("words.py", "LICENSE"):
        return False
    return path.suffix in _PROSE and (path.parts[0] != "tests" or path.suffix == ".md")


def phrases(path: Path, text: str) -> Iterator[str]:
    """Findings on the phrases of a file."""
    for rule, instead in _PHRASE.items():
        for match in rule.finditer(text):
            found = " ".join(re.sub(r'[*#"\s]+', " ", match[0]).split())
            yield f"{path}:{source.line_of(text, match.start())}: {found!r} stops a reader; rather: {instead}"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    for path in source.files(root):
        inside = path.relative_to(root)
        if has_phrases(inside):
            yield from phrases(inside, source.read(path))


if __name__ == "__main__":
    source.run(check)
