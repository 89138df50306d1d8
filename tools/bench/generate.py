"""Repositories of any size, equal in each run: Python files with classes, methods, functions and imports.

File sizes are log-normal with a mean of 4 kB. A file depends only on the seed and on its number, so a smaller
repository is the beginning of a larger one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

from corpus import commit_file, commit_head, git, make_repository

VERSION = 2  # version of the generator; part of the names of kept folders
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
STATEMENTS = (
    "if {a} is None:\n            raise ValueError('no {a} in {b}')\n",
    "for {a} in self.{b}s:\n            self.{c}({a}, {n})\n",
    "result = [{a} for {a} in {b} if {a}.{c} > {n}]\n",
    "# keep the {a} of each {b} until the {c} is known\n",
    "self.{a} = {b}.get('{c}', {n})\n",
)


def _method(pick: random.Random) -> str:
    """A method with a docstring and a few statements, indented as in a class."""
    a, b, c = pick.sample(WORDS, k=3)
    text = f"    def {pick.choice(WORDS)}_{a}(self, {b}, {c}=None):\n"
    text += f'        """Return the {a} of a {b}, or the {c} in its place."""\n'
    for _ in range(pick.randint(1, 6)):
        a, b, c = pick.sample(WORDS, k=3)
        text += "        " + pick.choice(STATEMENTS).format(a=a, b=b, c=c, n=pick.randint(0, 999))
    return text + "        return self\n\n"


def _function(pick: random.Random) -> str:
    """A function with a docstring and a few statements."""
    lines = _method(pick).splitlines(keepends=True)
    return "".join(line.removeprefix("    ") for line in lines) + "\n"


def _class(pick: random.Random) -> str:
    """A class with a few methods, with a base or without."""
    name, base = ("".join(word.title() for word in pick.choices(WORDS, k=3)) for _ in range(2))
    head = f"class {name}{pick.choice(('', f'({base})'))}:\n    kind = '{pick.choice(WORDS)}'\n\n"
    return head + "".join(_method(pick) for _ in range(pick.randint(2, 9))) + "\n"


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
        parts.append(f"from lib.{pick.choice(WORDS)}_0 import {pick.choice(WORDS)}\n")
    parts.append("\n\n")
    size = sum(map(len, parts))
    while True:
        part = _class(pick) if pick.random() < 0.6 else _function(pick)
        if size + len(part) // 2 > wanted:  # errors in both directions are equally frequent
            return "".join(parts).encode()
        parts.append(part)
        size += len(part)


def many_files(count: int) -> Iterator[tuple[str, bytes]]:
    """A repository of `count` files."""
    return ((path_of(number), file_of(number)) for number in range(count))


def long_file(lines: int) -> Iterator[tuple[str, bytes]]:
    """A file with this many lines, and a function every ten lines."""
    block = "def step_{n}(value):\n    value += {n}\n    value *= 2\n    return value\n\n\n"
    head = "class Longest:\n    pass\n"
    parts = [head, *(block.format(n=n) for n in range((lines - 2) // 6))]
    missing = lines - 2 - 6 * ((lines - 2) // 6)
    yield "long.py", ("".join(parts) + "\n" * missing).encode()


def wide_class(methods: int) -> Iterator[tuple[str, bytes]]:
    """A class with this many methods."""
    body = "".join(f"    def method_{n}(self, value):\n        return value + {n}\n\n" for n in range(methods))
    yield "wide.py", f"class Wide:\n{body}".encode()


def one_name(functions: int, per_file: int = 100) -> Iterator[tuple[str, bytes]]:
    """Functions of one name, in files of a hundred functions, and a class."""
    text = "def same(value):\n    return value + {n}\n\n\n"
    for first in range(0, functions, per_file):
        numbers = range(first, min(first + per_file, functions))
        content = "" if first else "class Owner:\n    pass\n\n\n"
        content += "".join(text.format(n=n) for n in numbers)
        yield f"same/part_{first // per_file}.py", content.encode()


def write(folder: Path, files: Iterator[tuple[str, bytes]]) -> Path:
    """Make a bare repository with one commit of these files, unless a repository of that name exists already."""
    if folder.is_dir():
        return folder
    part = folder.with_name(folder.name + ".part")
    git_folder = make_repository(part)
    git(git_folder, "config", "core.compression", "1")
    stream = b"".join([commit_head("generated"), *(commit_file(*f) for f in files)])
    git(git_folder, "fast-import", "--quiet", stdin=stream)
    git(git_folder, "update-ref", "refs/heads/main", "refs/heads/made")
    return part.rename(folder)
