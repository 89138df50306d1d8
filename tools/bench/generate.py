"""Repositories of any size, the same each time: Python files with classes, methods, functions and imports.

Sizes of files are log-normal with a mean of 4 kB. A file depends on the seed and its own number
only, so that a smaller repository is the beginning of a larger one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

from corpus import commit_file, commit_head, git, make_repository

VERSION = 1  # of what is generated: folders that are kept are named for it
SEED = 20240
MEAN_BYTES, SIGMA = 4000, 1.1
MAX_BYTES = 400_000
PER_FOLDER = 40
WORDS = (
    "account batch cache delta edge field grid handle item joint kernel ledger matrix node offset "
    "packet query record signal token unit vector window buffer cursor domain event frame graph "
    "header index journal label message number option parser queue range series table update value "
    "weight worker cell block stage entry filter group input layer model output phase rule scale"
).split()
VERBS = (
    "add apply bind build check close copy count create drop emit fetch find flush format get load "
    "make merge open pack parse print push read reset resolve save scan send set sort split start "
    "stop store sum swap trim update validate visit wrap write"
).split()
STATEMENTS = (
    "if {a} is None:\n    raise ValueError('no {a} in {b}')\n",
    "{a} = self.{b}\n",
    "for {a} in self.{b}s:\n    self.{c}({a}, {n})\n",
    "result = [{a} for {a} in {b} if {a}.{c} > {n}]\n",
    "self.{a} = {b} or {{}}\n",
    "# keep the {a} of each {b} until the {c} is known\n",
    "with self.{a}_lock:\n    self.{b} += {n}\n",
    "{a} = {b}.get('{c}', {n})\n",
)


def _type_name(pick: random.Random) -> str:
    return "".join(word.title() for word in pick.choices(WORDS, k=3))


def _def_name(pick: random.Random) -> str:
    return f"{pick.choice(VERBS)}_{pick.choice(WORDS)}"


def _indented(text: str, depth: int) -> str:
    pad = "    " * depth
    return "".join(f"{pad}{line}\n" for line in text.splitlines())


def _body(pick: random.Random, depth: int) -> str:
    """A docstring and a few statements."""
    a, b, c = pick.sample(WORDS, k=3)
    lines = [f'"""Return the {a} of a {b}, or the {c} that stands for it."""\n']
    for _ in range(pick.randint(1, 6)):
        statement = pick.choice(STATEMENTS)
        a, b, c = pick.sample(WORDS, k=3)
        lines.append(statement.format(a=a, b=b, c=c, n=pick.randint(0, 999)))
    lines.append("return self\n" if depth > 1 else f"return {pick.randint(0, 99)}\n")
    return _indented("".join(lines), depth)


def _function(pick: random.Random) -> str:
    a, b = pick.sample(WORDS, k=2)
    head = f"def {_def_name(pick)}(self, {a}, {b}=None):\n"
    return head + _body(pick, 1) + "\n\n"


def _class(pick: random.Random) -> str:
    base = pick.choice(("", f"({_type_name(pick)})", f"({pick.choice(WORDS)}s.Base)"))
    lines = [f"class {_type_name(pick)}{base}:\n", f"    kind = '{pick.choice(WORDS)}'\n\n"]
    for _ in range(pick.randint(2, 9)):
        a, b = pick.sample(WORDS, k=2)
        if pick.random() < 0.15:
            lines.append(f"    @property\n    def {a}(self):\n")
        else:
            lines.append(f"    def {_def_name(pick)}(self, {a}, {b}=None):\n")
        lines.append(_body(pick, 2) + "\n")
    return "".join(lines) + "\n"


def path_of(number: int) -> str:
    """The path of a file, by its number."""
    words = len(WORDS)
    folder = number // PER_FOLDER
    inner, outer = WORDS[folder % words], WORDS[folder // words % words]
    return f"lib/{outer}_{folder // words}/{inner}/{WORDS[number % words]}_{number}.py"


def file_of(number: int, seed: int = SEED) -> bytes:
    """The content of a file, by its number."""
    pick = random.Random(f"{seed}:{number}")
    mu = math.log(MEAN_BYTES) - SIGMA**2 / 2
    wanted = min(int(pick.lognormvariate(mu, SIGMA)), MAX_BYTES)
    parts = [f'"""The {pick.choice(WORDS)} module, number {number}."""\n\nimport os\n']
    for _ in range(pick.randint(0, 4)):
        parts.append(f"from lib.{pick.choice(WORDS)}_0 import {_type_name(pick)}\n")
    parts.append("\n\n")
    size = sum(map(len, parts))
    while True:
        part = _class(pick) if pick.random() < 0.6 else _function(pick)
        if size + len(part) // 2 > wanted:  # as often too short as too long
            return "".join(parts).encode()
        parts.append(part)
        size += len(part)


def many_files(count: int) -> Iterator[tuple[str, bytes]]:
    """A repository of `count` files."""
    return ((path_of(number), file_of(number)) for number in range(count))


def long_file(lines: int) -> Iterator[tuple[str, bytes]]:
    """One file of that number of lines, with a function every ten."""
    block = "def step_{n}(value):\n    value += {n}\n    value *= 2\n    return value\n\n\n"
    head = "class Longest:\n    pass\n"
    parts = [head, *(block.format(n=n) for n in range((lines - 2) // 6))]
    missing = lines - 2 - 6 * ((lines - 2) // 6)
    yield "long.py", ("".join(parts) + "\n" * missing).encode()


def wide_class(methods: int) -> Iterator[tuple[str, bytes]]:
    """One class with that number of methods."""
    body = "".join(f"    def method_{n}(self, value):\n        return value + {n}\n\n" for n in range(methods))
    yield "wide.py", f"class Wide:\n{body}".encode()


def one_name(functions: int, per_file: int = 100) -> Iterator[tuple[str, bytes]]:
    """Functions of one name, in files of a hundred, and a class beside them."""
    text = "def same(value):\n    return value + {n}\n\n\n"
    for first in range(0, functions, per_file):
        numbers = range(first, min(first + per_file, functions))
        content = "" if first else "class Owner:\n    pass\n\n\n"
        content += "".join(text.format(n=n) for n in numbers)
        yield f"same/part_{first // per_file}.py", content.encode()


def write(folder: Path, files: Iterator[tuple[str, bytes]]) -> Path:
    """Make a bare repository with one commit of these files; an older one of that name is used again."""
    if folder.is_dir():
        return folder
    part = folder.with_name(folder.name + ".part")
    git_folder = make_repository(part)
    git(git_folder, "config", "core.compression", "1")
    stream = b"".join([commit_head("generated"), *(commit_file(*f) for f in files)])
    git(git_folder, "fast-import", "--quiet", stdin=stream)
    git(git_folder, "update-ref", "refs/heads/main", "refs/heads/made")
    return part.rename(folder)
