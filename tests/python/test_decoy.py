"""acr.experiments.decoy: the patch's names with the base's behaviour."""

from __future__ import annotations

import ast

import pytest
from acr.experiments.decoy import decoy

BASE = '''import os
LIMIT = 10
class Shop(Base):
    rate = 1
    def total(self, prices, tax=0, *, fee=1):
        """Sum."""
        return sum(prices[1:])
    @property
    def name(self):
        return "shop"
    @name.setter
    def name(self, value):
        self.old = value
def gone():
    return 1
if os.name == "nt":
    LIMIT = 11
'''

# A patched function or module -> its decoy.
CASES = [
    ("sum(prices[1:])", "sum(prices)", "return sum(prices[1:])"),
    ('"""Sum."""', '"""The sum of prices."""', '"""The sum of prices."""'),
    ("prices, tax=0, *, fee=1", "prices: list, more, tax=5, *, fee=2, z=3", "self, prices: list, more, tax=0, *, fee=1, z=3"),
    ("LIMIT = 10", "LIMIT = 12", "LIMIT = 10"),
    ("rate = 1", "rate = 2", "rate = 1"),
    ("class Shop(Base)", "class Shop(Other, key=1)", "class Shop(Base)"),
    ("    @property\n", "    @cached\n", "@property"),
    ("self.old = value", "self.new = value", "self.old = value"),
    ("def gone():\n    return 1\n", "", "def gone():\n    return 1\n"),
    ('if os.name == "nt"', 'if os.name == "posix"', "if os.name == 'nt'"),
    ("LIMIT = 10", "LIMIT = 10\nMORE = LIMIT + 1", "MORE = None"),
    ("LIMIT = 10", "LIMIT = 10\nfrom a import b", "from a import b"),
    ("LIMIT = 10", "LIMIT = 10\n@trick\ndef new(x=1):\n    '''Doc.'''\n    return x", '"""Doc."""\n    raise NotImplementedError(\'word\')'),
    ("LIMIT = 10", "LIMIT = 10\nclass New(list):\n    x = 1\n    def f(self): return 2", "class New(list):\n    x = None\n\n    def f(self):\n        raise"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "kept"), CASES)
def test_the_behaviour_of_a_patch_is_taken_out(old: str, new: str, kept: str) -> None:
    assert old in BASE
    text = decoy(BASE, BASE.replace(old, new), "word")
    ast.parse(text)
    assert kept in text
    assert "@trick" not in text


@pytest.mark.parametrize(
    "added", ["do()\n", "sys.modules['a'] = b\n", "if x:\n    y = 1\n", "class A:\n    __slots__ = 'a'\n"]
)
def test_what_a_patch_does_at_import_is_dropped(added: str) -> None:
    text = decoy(BASE, BASE + added, "word")
    assert "do()" not in text and "sys.modules" not in text and "y = 1" not in text and "__slots__" not in text


def test_a_new_file_is_all_new_and_what_does_not_parse_is_refused() -> None:
    assert decoy(None, "def f():\n    return 1\n", "w") == "def f():\n    raise NotImplementedError('w')\n"
    assert decoy(BASE, BASE, "w") == ast.unparse(ast.parse(BASE)) + "\n"
    with pytest.raises(SyntaxError):
        decoy(None, "def f(:\n", "w")
