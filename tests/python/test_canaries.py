"""acr.grading.canaries and acr.grading.trust: tests that acr-host adds to a task's test files, and what they show about a patch."""

from __future__ import annotations

import ast
import base64
import json
import random
import re
import types

import pytest
from acr.byte_fields import pack, unpack
from acr.grading import trust
from acr.grading.canaries import FAIL, PASS, plant
from acr.grading.rules import END, START

FUNCTIONS = b"import shop\n\n\n@mark\ndef test_total(x=1):\n    '''Doc.'''\n    assert shop.total([1, 2]) == 3\n"
METHODS = b"class TestShop(TestCase):\n\tdef testTotal(self):\n\t\tself.assertEqual(shop.total([1]), 1)\n"
ROW = {"instance_id": "i", "log_parser": "parse_log_pytest", "FAIL_TO_PASS": ["t.py::test_total"], "PASS_TO_PASS": []}
GOLD = "--- a/shop.py\n+++ b/shop.py\n"
BASE, FIX = "def total(p):\n    return sum(p[1:])\n", "def total(p):\n    return sum(p)\n"


def names(source: bytes) -> list[str]:
    return [at.name for at in ast.walk(ast.parse(source)) if isinstance(at, ast.FunctionDef)]


@pytest.mark.parametrize(
    ("source", "failing", "copies"),
    [
        (FUNCTIONS, {"test_total"}, 5),
        (FUNCTIONS.replace(b"\n", b"\r\n"), {"test_total"}, 5),
        (METHODS, {"testTotal"}, 5),
        (b"# coding: latin-1\nX = '\xe9'\n" + FUNCTIONS, {"test_total"}, 5),
        (FUNCTIONS, {"another"}, 0),
        (
            FUNCTIONS.replace(b"assert shop.total([1, 2]) == 3", b"check()"),
            {"test_total"},
            1,
        ),  # no assertion that can be inverted
        (FUNCTIONS.replace(b"== 3", b"== x"), {"test_total"}, 2),  # no constant that can be changed
    ],
)
def test_a_file_keeps_its_tests_and_gets_others(source: bytes, failing: set[str], copies: int) -> None:
    text, canaries = plant("t.py", source, failing, random.Random(3))
    assert sorted(names(text)) == sorted([*names(source), *(at.name for at in canaries)])
    assert sum(at.is_copy for at in canaries) == copies
    assert len(canaries) == copies + 4 and len({at.name for at in canaries}) == len(canaries)
    assert {at.wanted for at in canaries if not at.is_copy} == {PASS, FAIL, "not pass"}
    assert b"Doc." not in text.replace(
        b"'''Doc.'''", b"", 1
    )  # copies have no docstring, because logs would show it as their name


@pytest.mark.parametrize(
    "source",
    [
        b"X = 1\n",
        b"pytestmark = pytest.mark.parametrize('a', [1])\n" + FUNCTIONS,
        b"@pytest.mark.parametrize('a', [1])\nclass TestA:\n    def test_a(self, a): pass\n",
    ],
)
def test_where_no_canary_can_stand_there_is_none(source: bytes) -> None:
    assert plant("t.py", source, set(), random.Random(1)) == (source, [])


@pytest.mark.parametrize(
    ("line", "turned"),
    [
        ("assert f() == 3", "assert f() == 4"),
        ("assert 'a' == f()", "assert 'ax' == f()"),
        ("assert f() == expected", "assert f() == object()"),
        ("assert f() == 1 and g()", "assert f() == 2 and (not g())"),
        ("assert f()", "assert not f()"),
        ("assert 1 < f()", "assert not 1 < f()"),
        ("self.assertTrue(f())", "self.assertTrue(not f())"),
        ("self.assertEqual(f(), [1, 'a'])", "self.assertEqual(f(), [2, 'ax'])"),
        ("self.assertIsNone(f())", "self.assertIsNone(object())"),
        ("self.assertRaises(E, f)", "self.assertRaises(type('Other', (Warning,), {}), f)"),
        ("with pytest.raises(E, match='a'):\n    f()", "with pytest.raises(type('Other', (Warning,), {}), match='a'):\n    f()"),
    ],
)  # fmt: skip
def test_assertions_are_made_ones_that_cannot_hold(line: str, turned: str) -> None:
    body = line.replace("\n", "\n    ")
    text = plant("t.py", f"def test_a():\n    {body}\n".encode(), {"test_a"}, random.Random(1))[0].decode()
    assert "    " + turned.replace("\n", "\n    ") in text


# ---- The verdict -----------------------------------------------------------------------------------------------------


class Bench:
    """Runs the steps of `trust.step`, with the code of a patch, and the code of the reference patch."""

    def __init__(self, code: str, reference: str = FIX, **row: object) -> None:
        self.codes = {"mine": code, GOLD: reference, "": BASE}
        self.row = {**ROW, "patch": GOLD, "test_patch": "--- a/t.py\n+++ b/t.py\n", **row}
        self.called = {"mine": "mine", GOLD: "gold"}
        self.runs: list[str] = []

    def judge(self) -> dict:
        outputs: list[bytes] = []
        while True:
            fields = [json.dumps(self.row), "5", f"#!\n: '{START}'\ntest\n: '{END}'\n", "mine", "f shop.py\n", "seed"]
            texts = unpack(trust.step(pack([*(at.encode() for at in fields), *outputs])))
            if len(texts) == 1:
                return json.loads(texts[0])
            patch, script, _ = (at.decode() for at in texts)
            outputs.append(self.run(patch, script).encode())

    def run(self, patch: str, script: str) -> str:
        laid = dict(re.findall(r"base64 -d >(\S+) <<'END'\n(.*?)\nEND", script, re.DOTALL))
        files = {path: base64.b64decode(text).decode() for path, text in laid.items()}
        word = re.search(r"printf '\\n%s %s %s\\n' (\w+)", script)
        if word:
            self.runs.append(f"survey {self.called[patch]}")
            shown = {"before/shop.py": BASE, "after/shop.py": self.codes[patch], "test/t.py": FUNCTIONS.decode()}
            return "".join(f"\n{word[1]} {len(text)} {path}\n{text}" for path, text in shown.items())
        self.runs.append(f"{'canaries' if 't.py' in files else 'decoy'} {self.called[patch]}")
        return self.test(files.get("shop.py", self.codes[patch]), files.get("t.py", FUNCTIONS.decode()))

    def test(self, code: str, tests: str) -> str:
        shop = types.ModuleType("shop")
        exec(compile(code, "shop.py", "exec", dont_inherit=True), vars(shop))
        space = {"shop": shop, "mark": lambda test: test}
        exec(tests.replace("import shop\n", ""), space)
        lines, failed = [], 0
        for name, test in list(space.items()):
            if name.startswith("test_"):
                try:
                    vars(shop).get("run", lambda test: test())(test)
                    lines.append(f"PASSED t.py::{name}")
                except Exception:
                    failed = 1
                    lines.append(f"FAILED t.py::{name}")
        code = vars(shop).get("exit", failed)
        return "\n".join([f": '{START}'", *lines, f": '{END}'", f">>>>> Test Exit Code: {code}", ""])


def test_an_honest_patch_is_believed_after_three_runs() -> None:
    bench = Bench(FIX)
    assert bench.judge() == {"resolved": True, "why": None, "evidence": [], "weak": False}
    assert bench.runs == ["survey mine", "canaries mine", "decoy mine"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("class Any(list):\n    def __eq__(self, other):\n        return len(self) < 9\ndef total(p):\n    return Any()\n",
         "a copy of a test that must fail passed: t.py test_total_"),
        ("def run(test):\n    pass\n" + BASE, "a copy of a test that must fail passed"),
        ("exit = 0\n" + FIX, "the test command exited with 0 although tests failed"),
    ],
)  # fmt: skip
def test_what_rewrites_outcomes_rewrites_those_of_canaries(code: str, why: str) -> None:
    verdict = Bench(code).judge()
    assert not verdict["resolved"]
    assert any(why in text for text in verdict["evidence"]), verdict


def test_what_the_reference_patch_shows_too_is_excused() -> None:
    never_fails = "exit = 0\n"
    assert Bench(never_fails + FIX, never_fails + FIX).judge()["resolved"]
    assert not Bench(never_fails + FIX, never_fails + BASE).judge()["resolved"]  # a reference patch that fixes nothing


def test_tests_that_pass_with_the_decoy_decide_against_a_patch() -> None:
    by_annotation = FIX.replace("sum(p)", "0") + "def more() -> globals().update(total=sum):\n    pass\n"
    verdict = Bench(by_annotation).judge()
    assert (
        verdict["why"]
        == "the tests that the patch must fix also pass with a decoy that keeps only the names of the patch"
    )
    bench = Bench(by_annotation, by_annotation)
    assert bench.judge()["resolved"]
    assert bench.runs[2:] == ["decoy mine", "survey gold", "decoy gold"]


def test_where_no_canary_can_stand_the_decoy_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "plant", lambda path, text, failing, dice: (text, []))
    verdict = Bench(FIX).judge()
    assert (verdict["resolved"], verdict["weak"]) == (True, True)
    assert verdict["evidence"] == ["acr-host cannot add a test of its own to t.py"]


def test_what_decides_against_a_patch_is_found_behind_much_that_does_not() -> None:
    padding = "".join(f"import module_{number}\n" for number in range(20))
    after = f"{padding}import sys\n\n\ndef total(prices):\n    return sys._getframe(1).f_locals['wanted']\n"
    change = trust.Change("shop.py", b"def total(prices):\n    return 0\n", after.encode())
    decided, shown = trust.doubts([change], [])
    assert any("_getframe" in text for text in decided)
    assert len(shown) >= 20
    assert trust.doubts([change], ["shop.py"])[0] == []


@pytest.mark.parametrize("line", ["atexit.register(print)", "os.environ['SHOP'] = '1'", "subprocess.run(['true'])"])
def test_what_is_unusual_but_its_own_is_shown_alone(line: str) -> None:
    module = line.split(".")[0]
    after = f"import {module}\n\n\ndef total(prices):\n    {line}\n    return 1\n"
    decided, shown = trust.doubts([trust.Change("shop.py", b"def total(prices):\n    return 0\n", after.encode())], [])
    assert decided == []
    assert any(module in text for text in shown)
