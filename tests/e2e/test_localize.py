"""Where a failure may come from: methods and lines by which tests run them."""

from __future__ import annotations

import sys
from typing import Any, Callable

import pytest
import sandboxes
from host import Host
from repos import Repo, digest

MakeRepo = Callable[..., Repo]

CODE = """\
RATES = {"a": 2}


class Order:
    def __init__(self, lines):
        self.lines = lines

    def total(self):
        return sum(price * count for price, count in self.lines)

    def discount(self, percent):
        whole = self.total()
        if percent > 50:
            return whole * percent
        return whole - whole * percent / 100


def rate(name):
    return RATES[name]
"""
UNIT = """\
import threading
import unittest

from shop.order import Order, rate


class OrderTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(Order([(2, 3)]).total(), 6)

    def test_small(self):
        self.assertEqual(Order([(2, 5)]).discount(10), 9)

    def test_large(self):
        self.assertEqual(Order([(2, 5)]).discount(60), 4)

    def test_thread(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(rate("a")))
        thread.start()
        thread.join()
        self.assertEqual(found, [2])

    def test_other(self):
        self.assertEqual(rate("b"), 2)
"""
PYTEST = "from shop.order import Order\n\n\ndef test_total():\n    assert Order([(2, 3)]).total() == 6\n\n\n\
def test_small():\n    assert Order([(2, 5)]).discount(10) == 9\n\n\ndef test_large():\n    assert Order([(2, 5)]).discount(60) == 4\n"
NAME = "tests.test_order.OrderTest.test_"
NONE, USAGE = 1, 2

pytestmark = pytest.mark.skipif(sandboxes.missing_bubblewrap() is not None, reason="bubblewrap does not work here")


@pytest.fixture
def shop(make_repo: MakeRepo) -> Repo:
    """A package with two bugs, and unittest's tests of it."""
    return make_repo(
        {"shop/__init__.py": "", "shop/order.py": CODE, "tests/__init__.py": "", "tests/test_order.py": UNIT}
    )


def localize(host: Host, repo: Repo, *args: object) -> dict[str, Any]:
    """The object that it prints; the tree is as before."""
    before = digest(repo.path)
    (row,) = host.run("localize", "--repo", repo, "--json", *args, timeout=600).check().rows()
    assert digest(repo.path) == before
    return row


def named(row: dict[str, Any]) -> list[tuple[str | None, str | None, list[int]]]:
    """Class, function and rank of each method."""
    return [(method["class"], method["func"], method["rank"]) for method in row["methods"]]


def test_unittest(host: Host, shop: Repo) -> None:
    """The failing branch comes first; what all tests run is less suspicious, what no failing one runs is not there."""
    row = localize(host, shop, "--python", "/usr/bin/python3", "--failing-test", NAME + "large")
    assert (row["failing"], row["passing"], row["complete"]) == ([NAME + "large"], 3, True)
    assert named(row) == [
        ("Order", "discount", [1, 1]),
        ("Order", "__init__", [2, 3]),
        ("Order", "total", [2, 3]),
    ]
    assert row["methods"][0] == {
        **{"file": "shop/order.py", "class": "Order", "func": "discount"},
        **{"start": 11, "end": 15, "score": 1.0, "rank": [1, 1]},
    }
    assert row["lines"][0] == {"file": "shop/order.py", "start": 14, "end": 14, "score": 1.0, "rank": [1, 1]}
    assert (row["lines"][1]["start"], row["lines"][1]["end"]) == (12, 13)
    assert not [line for line in row["lines"] if line["start"] <= 15 <= line["end"] or line["start"] >= 18]


def test_all_that_fail(host: Host, shop: Repo) -> None:
    """Without a test's name; lines that a thread runs count; every formula ranks."""
    for formula in ("ochiai", "dstar", "tarantula"):
        row = localize(host, shop, "--python", "/usr/bin/python3", "--formula", formula)
        assert row["failing"] == [NAME + "large", NAME + "other"]
        assert (None, "rate") in [(name, func) for name, func, _ in named(row)]
        (rate,) = [line for line in row["lines"] if line["start"] == 19]
        (branch,) = [line for line in row["lines"] if line["start"] == 14]
        assert rate["score"] < branch["score"], "a passing test runs it, in a thread"
    text = host.run("localize", "--repo", shop, "--python", "/usr/bin/python3").check().out
    assert text.startswith("2 tests fail, 3 pass\n1-1  0.7071  shop/order.py:11  Order.discount\n")


def test_pytest(host: Host, make_repo: MakeRepo) -> None:
    repo = make_repo(
        {"shop/__init__.py": "", "shop/order.py": CODE, "tests/test_order.py": PYTEST, "pytest.ini": "[pytest]\n"}
    )
    row = localize(host, repo, "--python", sys.executable)
    assert (row["failing"], row["passing"]) == (["tests/test_order.py::test_large"], 2)
    assert named(row)[0] == ("Order", "discount", [1, 1])


@pytest.mark.parametrize(
    "options,code,words",
    [
        (["--failing-test", NAME + "small"], NONE, [NAME + "small", "does not fail"]),
        (["--failing-test", "nowhere"], NONE, ["nowhere"]),
        (["--formula", "guess"], USAGE, ["--formula"]),
        (["--test-cmd", "printf 'FAILED a.py::y - no\\nPASSED a.py::x\\n'; exit 1"], NONE, ["which lines"]),
    ],
)
def test_what_cannot_be_told(host: Host, shop: Repo, options: list[str], code: int, words: list[str]) -> None:
    host.run("localize", "--repo", shop, "--python", "/usr/bin/python3", *options).one_line(code, *words)


def test_nothing_fails(host: Host, make_repo: MakeRepo) -> None:
    repo = make_repo(
        {
            "test_a.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n",
            "a.py": "",
        }
    )
    host.run("localize", "--repo", repo, "--python", "/usr/bin/python3").one_line(NONE, "no test fails")
