"""Tests of the tree of calls from a script to its failure: the calls, their folding, and the maximum size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TRACER = Path(__file__).parents[2] / "python" / "acr" / "project" / "inside" / "call_tracer.py"
SHOP = """
class Item:
    def __init__(self, cents):
        self.cents = cents

    def total(self, n):
        return scale(self.cents, n)


def scale(cents, n):
    if n > 5:
        raise ValueError(f"too many: {n}")
    return cents * (n - 1)


def sum_of(items, **counts):
    return sum(items[name].total(n) for name, n in counts.items())


def deep(n):
    return scale(1, 9) if n == 0 else deep(n - 1)


class Odd:
    def __repr__(self):
        raise SystemExit(3)


def take(odd):
    return odd


def first(n):
    return n


def second(n):
    return n


def third(n):
    return n


def fail_late():
    first(1), second(1), third(1), scale(1, 9)


at_import = [scale(1, 2) for _ in range(100)]
"""


def trace(folder: Path, script: str) -> list[str]:
    """The lines of the tree."""
    (folder / "shop.py").write_text(SHOP, "utf-8")
    (folder / "reproducer.py").write_text("from shop import *\n" + script, "utf-8")
    with TRACER.open("rb") as source:
        ran = subprocess.run(
            [sys.executable, "-", "reproducer.py"],
            cwd=folder,
            stdin=source,
            capture_output=True,
            check=True,
            timeout=60,
        )
    return ran.stdout.decode().splitlines()


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        (
            "import sys\nprint('dropped')\nassert sum_of({'a': Item(30)}, a=3) == 90\n",
            [
                "line 4: sum_of(items={'a': <shop.Item object>}, counts={'a': 3}) -> 60  [shop.py:16]",
                "  Item.total(n=3) -> 60",
                "    scale(cents=30, n=3) -> 60",
                "line 4: Item.__init__(cents=30)  [shop.py:3]",
            ],
        ),
        (
            "deep(1)\n",
            [
                "line 2: deep(n=1) raises ValueError('too many: 9')  [shop.py:20]",
                "  deep(n=0) raises ValueError('too many: 9')",
                "    scale(cents=1, n=9) raises ValueError('too many: 9')",
            ],
        ),
        (
            "fail_late()\n",
            [
                "line 2: fail_late() raises ValueError('too many: 9')  [shop.py:45]",
                "  second(n=1) -> 1",
                "  third(n=1) -> 1",
                "  scale(cents=1, n=9) raises ValueError('too many: 9')",
            ],
        ),
        ("for n in range(1000):\n    scale(1, 2)\n", ["line 3: scale(cents=1, n=2) -> 1 (1000 times)  [shop.py:10]"]),
        ("take(Odd())\n", ["line 2: take(odd=<Odd>) -> <Odd>  [shop.py:29]"]),
        ("assert 1 == 2\n", []),
    ],
    ids=["latest first", "what raises", "beside the path", "folded", "odd values", "no call"],
)
def test_tree(tmp_path: Path, script: str, lines: list[str]) -> None:
    assert trace(tmp_path, script) == lines


def test_it_stays_small(tmp_path: Path) -> None:
    """Deep, numerous and long values must not exceed the maximum size."""
    names = [f"f{n}" for n in range(200)]
    calls = "\n".join(f"def {a}(x):\n    return {b}(x + 'y')\n" for a, b in zip(names, [*names[1:], "len"]))
    (tmp_path / "many.py").write_text(calls, "utf-8")
    lines = trace(tmp_path, "from many import *\nfor f in (f0, f50, f150):\n    f('ab')\n    f('x' * 10**5)\n")
    assert 20 < len(lines) <= 60 and sum(len(line) + 1 for line in lines) <= 5600
    assert max(map(len, lines)) <= 260
