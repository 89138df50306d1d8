#!/usr/bin/env python3
"""Compares `acr-host patch` with aider's search/replace blocks on edits whose quotes are garbled as models do it.

usage: edits.py --binary FILE --repo DIR [--rev REV] --peer PYTHON [--each N] [--json FILE]
PYTHON has aider (pip install aider-chat). Each edit changes one line of a function of the repository; the functions are
the same in each run. The quote of the old function is garbled in a way that is known from models. An edit is right if
the file becomes what the exact quote would have made of it. An edit must be rejected if its quote occurs twice, or
nowhere. acr-host runs as one process that indexes nothing and checks its result with pylint; for aider, only its
function is timed. Exit 0 if acr-host applies no edit wrongly and at least as many as aider correctly, 1 if not, 3 if
something could not be measured.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import program
import table
from corpus import Corpus, clean_env, load
from timing import BenchError

PEER = """
import json, sys, time
from aider.coders.editblock_coder import do_replace
cases = json.load(sys.stdin)
begin = time.perf_counter()
made = [do_replace(path, content, before, after, ("```", "```")) for path, content, before, after in cases]
print(json.dumps({"seconds": time.perf_counter() - begin, "made": made}))
"""
ANSWER = "# modification 1\n```\n<file>{path}</file>\n<original>{old}</original>\n<patched>{new}</patched>\n```\n"


@dataclass(frozen=True)
class Case:
    """An edit and the expected content of the file; None: the edit must be rejected."""

    path: str
    content: str
    old: str
    new: str
    wanted: str | None


def functions(corpus: Corpus) -> Iterator[tuple[str, str, str]]:
    """Path, content and lines of functions that can be quoted: 6 to 30 lines, unique in the file."""
    for path, raw in corpus.files:
        try:
            content = raw.decode("utf-8")
            tree = ast.parse(content)
        except (SyntaxError, ValueError):
            continue
        if "\r" in content or "\t" in content or not path.endswith(".py"):
            continue
        lines = content.splitlines(keepends=True)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.end_lineno and 6 <= node.end_lineno - node.lineno <= 30:
                text = "".join(lines[node.lineno - 1 : node.end_lineno])
                if content.count(text) == 1 and text.endswith("\n"):
                    yield path, content, text


def changed(text: str, chance: random.Random) -> str | None:
    """The function with another value or name in one line; None: no line is easy to change."""
    lines = text.splitlines(keepends=True)
    good = [at for at, line in enumerate(lines) if at and re.fullmatch(r"\s+(return|\w+ =) [^\n#\"'\\(\[{]+\n", line)]
    if not good:
        return None
    at = chance.choice(good)
    lines[at] = re.sub(r"(return|=) (.*)\n", r"\1 patched_by_bench(\2)\n", lines[at])
    return "".join(lines)


def _per_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(line) for line in text.splitlines(keepends=True))


def _misquoted(text: str) -> str:
    """Replaces one long word near the middle."""
    words = [word for word in re.finditer(r"\b[a-z_]{6,}\b", text) if word.start() > len(text) // 3]
    if not words:
        return text
    word = words[len(words) // 2]
    return f"{text[: word.start()]}{word[0]}s{text[word.end() :]}"


# For each way of garbling: how it garbles the quote, and whether it garbles the new text in the same way.
WAYS: dict[str, tuple[Callable[[str], str], bool]] = {
    "exact": (lambda text: text, True),
    "without its indentation": (textwrap.dedent, True),
    "indented by two more": (_per_line(lambda line: f"  {line}" if line.strip() else line), True),
    "blanks at the ends of lines": (_per_line(lambda line: line[:-1] + "  \n"), False),
    "without blank lines": (lambda text: re.sub(r"\n\s*\n", "\n", text), False),
    "without comments": (lambda text: re.sub(r"(?m)^\s*#.*\n", "", text), False),
    "other quotes of strings": (lambda text: text.replace("'", '"'), False),
    "a word misquoted": (_misquoted, False),
}
TWICE, NOWHERE = "stands twice", "stands nowhere"


def make_cases(corpus: Corpus, each: int) -> dict[str, list[Case]]:
    """Way of garbling -> its cases. Errors: BenchError if the repository has too few functions."""
    chance = random.Random(1)
    found = [(*place, new) for place in functions(corpus) if (new := changed(place[2], chance))]
    if len(found) < each:
        raise BenchError(f"only {len(found)} functions of the repository can be changed")
    cases: dict[str, list[Case]] = {}
    for way, (garble, both) in WAYS.items():
        usable = [row for row in found if way == "exact" or garble(row[2]) != row[2]]
        cases[way] = [
            Case(path, content, garble(old), garble(new) if both else new, content.replace(old, new))
            for path, content, old, new in chance.sample(usable, min(each, len(usable)))
        ]
    for way in (TWICE, NOWHERE):
        cases[way] = [_refused(way, *row) for row in chance.sample(found, each)]
    return cases


def _refused(way: str, path: str, content: str, old: str, new: str) -> Case:
    if way == TWICE:
        return Case(path, f"{content}\n\n{old}", old, new, None)
    other = re.sub(r"[a-z]{3,}", lambda word: word[0][::-1], old)
    return Case(path, content, other, new, None)


@dataclass(frozen=True)
class Landed:
    """A program's results for the cases of one way."""

    right: int
    wrong: int
    seconds: float


def judge(cases: list[Case], made: list[str | None], seconds: float) -> Landed:
    """`made`: the files after the edits; None: the edit was rejected."""
    right = sum(case.wanted == text for case, text in zip(cases, made))
    wrong = sum(text is not None and case.wanted != text for case, text in zip(cases, made))
    return Landed(right, wrong, seconds)


def by_peer(peer: Path, cases: list[Case]) -> Landed:
    """The files that aider produces. Errors: BenchError."""
    rows = [[Path(case.path).name, case.content, case.old, case.new] for case in cases]
    command = [str(peer), "-c", PEER]
    done = subprocess.run(command, input=json.dumps(rows), capture_output=True, check=False, text=True)
    if done.returncode:
        raise BenchError(f"'{peer}' has no aider: {done.stderr.strip().splitlines()[-1:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    made = [text if text and text != case.content else None for text, case in zip(told["made"], cases)]
    return judge(cases, made, told["seconds"])


def by_us(binary: Path, cases: list[Case], work: Path) -> Landed:
    """The files that `patch` produces, in one process. Errors: BenchError."""
    tree, answers = work / "tree", []
    for number, case in enumerate(cases):
        path = f"at{number}/{case.path}"
        (tree / path).parent.mkdir(parents=True)
        (tree / path).write_text(case.content, "utf-8")
        answers.append(work / f"{number}.md")
        answers[-1].write_text(ANSWER.format(path=path, old=case.old, new=case.new), "utf-8")
    command = [binary.resolve(), "patch", "--repo", tree, "--json", *answers]
    begin = time.perf_counter()
    done = subprocess.run(command, env=clean_env(HOME=str(work)), capture_output=True, check=False, text=True)
    seconds = time.perf_counter() - begin
    told = [json.loads(line) for line in done.stdout.splitlines()]
    if len(told) != len(cases):
        raise BenchError(f"patch gave {len(told)} answers to {len(cases)}: {done.stderr[:300]}")
    return judge(
        cases, [_patched(row.get("diff"), case, tree, n) for n, (row, case) in enumerate(zip(told, cases))], seconds
    )


def _patched(diff: str | None, case: Case, tree: Path, number: int) -> str | None:
    if not diff:
        return None
    subprocess.run(
        ["git", "apply", "-p1", "-"],
        cwd=tree,
        input=diff,
        check=True,
        text=True,
        env=clean_env(GIT_CEILING_DIRECTORIES="/"),
    )
    return (tree / f"at{number}" / case.path).read_text("utf-8")


def measure(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """The table. Errors: BenchError."""
    rows = []
    for at, (way, cases) in enumerate(make_cases(load(options.repo.resolve(), options.rev), options.each).items()):
        (work / str(at)).mkdir()
        ours, peer = by_us(options.binary, cases, work / str(at)), by_peer(options.peer, cases)
        n = len(cases)
        tells = [
            f"{one.right} of {n} right, {one.wrong} wrong, {one.seconds / n * 1e3:.1f} ms each" for one in (ours, peer)
        ]
        rows.append(table.Row("edits", way, ours.wrong + max(0, peer.right - ours.right), "wrong or lost", 0.0, *tells))
    return rows


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = program.parser(__doc__, rounds=1)
    add = parser.add_argument
    add("--repo", type=Path, required=True, help="read functions from this git repository")
    add("--rev", default="HEAD", help="edit functions of this commit")
    add("--peer", type=Path, required=True, help="run aider with this Python")
    add("--each", type=int, default=40, help="make N edits of each kind")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Measure and print; returns the exit code."""
    options = arguments(argv)
    return program.main("edits.py", options, lambda work: measure(options, work))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
