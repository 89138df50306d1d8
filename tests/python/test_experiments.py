"""acr.experiments: the site of a script, its variants, plain code, outcomes, and repeatable verdicts."""

from __future__ import annotations

import json
import random

import pytest
from acr.byte_fields import pack, unpack
from acr.experiments import plain, script_variants, service, tree_variants
from acr.experiments.comparisons import pairs
from acr.experiments.outcome import Outcome
from acr.experiments.script_variants import Script
from acr.experiments.site import Site, find
from verdict_runs import verdict

TRACEBACK = b'Traceback (most recent call last):\n  File "/t/reproducer.py", line 2, in <module>\n    assert f(1) == 2\nAssertionError\n'

# script, lines of its traceback -> the expression that decides
SITES = [
    ("from m import f\nassert f(1) == 2\n", [2], "test"),
    ("if f(1) != 2:\n    raise AssertionError\n", [2], "test"),
    ("def fail():\n    raise AssertionError\n\nif f(1) != 2:\n    fail()\n", [5, 2], "test"),
    ("def main():\n    if f(1) == 2:\n        return\n    raise AssertionError\n\nmain()\n", [6, 4], "test"),
    ("try:\n    f(1)\nexcept ValueError:\n    raise AssertionError\n", [4], "try"),
    ("with suppress(ValueError):\n    f(1)\n    raise AssertionError\n", [3], "try"),
    ("match f(1):\n    case 2:\n        pass\n    case _:\n        raise AssertionError\n", [5], "ways"),
    ("class T:\n    def test(self):\n        self.assertEqual(f(1), 2)\n", [3], "call"),
    ("with raises(ValueError):\n    f(1)\n", [1], "with"),
    ("f(1)\n", [1], "statement"),
]


def _site(statements: str) -> Site:
    """The site that is the last of these statements."""
    site = find(statements.replace("; ", "\n"), [1 + statements.count("; ")])
    assert site is not None
    return site


@pytest.mark.parametrize(("source", "lines", "kind"), SITES)
def test_what_decides_about_the_line_that_failed(source: str, lines: list[int], kind: str) -> None:
    site = find(source, lines)
    assert site is not None and site.kind == kind
    script = Script(source, lines, random.Random(1))
    assert script_variants.negated(script) not in (None, source)
    assert script.nonce not in (script_variants.negated(script) or "")


@pytest.mark.parametrize(
    ("test", "changed"),
    [
        ("f(1) == 2", True),
        ("2 == f(1)", True),
        ("not f(1) != 2", True),
        ("f(1) == g()", True),
        ("abs(f(1) - 0.5) < 0.1", True),
        ("'text' in f(1)", True),
        ("f(1) in (1, 2)", False),  # other experiments judge sets of values, and bounds
        ("f(1) > 3", False),
        ("all(f(n) == 2 for n in x)", True),
        ("math.isclose(f(1), 1.5)", True),
        ("f(1) is None", True),
        ("f(1)", False),
    ],
)
def test_what_a_test_expects_is_changed(test: str, changed: bool) -> None:
    script = Script(f"assert {test}\n", [1], random.Random(1))
    assert bool(script_variants.perturbed(script, False)) == changed


@pytest.mark.parametrize(
    ("statement", "vague"),
    [
        ("assert f(1) is not None", True),
        ("assert f(1) != 3", True),
        ("assert not f(1) == 3", True),
        ("assert f(1) != f(2)", True),  # a relation between two results
        ("assert f(1) is None", False),
        ("assert 'a' not in f(1)", True),
        ("assert 'a' in f(1)", False),
        ("assert 'a' in dir(f)", True),
        ("assert len(f(1)) > 0", True),
        ("assert len(f(1)) > 3", False),
        ("assert isinstance(f(1), (int, str))", True),
        ("assert isinstance(f(1), Money)", False),
        ("assert type(f(1)) is str", True),
        ("assert type(f(1)).__name__ == 'str'", True),
        ("assert str(f(1)) != str(3)", True),
        ("assert f(1) is not m.MISSING", True),
        ("assert bool(f(1)) is True", True),
        ("assert all([f(1) != 3, f(2) != 4])", True),
        ("assert ('ok' if f(1) != 3 else 'bad') == 'ok'", True),
        ("assert hasattr(f, 'a')", True),
        ("import m; assert issubclass(m.Small, m.Money)", True),
        ("import m; assert m.f.__module__ == 'm.core'", True),
        ("import m; parts = inspect.signature(m.f).parameters; assert list(parts) == ['a']", True),
        ("import m; assert m.LIMITS['a'] == 3", False),
        ("import m; assert isinstance(m.f(1), types.GeneratorType)", True),
        ("self.assertIsNotNone(f(1))", True),
        ("self.assertIsNone(f(1))", False),
        ("self.assertNotEqual(f(1), 3)", True),
        ("self.assertEqual(f(1), 3)", False),
    ],
)
def test_a_comparison_that_states_no_value_is_vague(statement: str, vague: bool) -> None:
    site = _site(statement)
    assert pairs(site)[0].is_vague == vague


@pytest.mark.parametrize(
    ("statement", "related"),
    [
        ("ids = m.f(1); assert len(ids) == len(set(ids))", True),
        ("a = m.f(1); assert all(x <= y for x, y in zip(a, a[1:]))", True),
        ("assert m.f(1, 2) == m.f(2, 1)", True),
        ("assert m.norm(m.f(1)) == m.norm([1])", False),
        ("a = m.f(1); assert all(x == y for x, y in zip(a, [1, 2]))", False),
        ("x = [1]; assert m.f(x) == sum(x)", False),
        ("assert m.Money(1) == m.Money(1)", False),
    ],
)
def test_sides_of_one_result_are_related(statement: str, related: bool) -> None:
    site = _site(f"import m; {statement}")
    assert pairs(site)[0].is_relation == related


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (["list", 1, ["tuple", "a"], ["set", 2]], "[1,('a',),set([2,]),]"),
        (["dict", ["a", ["list"]]], "{'a':[],}"),
        (["list", ["object", ["m:Money"], "1"]], None),
        ("inf", None),
        ("...", None),
    ],
)
def test_what_is_written_out_becomes_an_expression(row: object, text: str | None) -> None:
    assert script_variants.literal(row) == text


@pytest.mark.parametrize(
    ("added", "kind"),
    [
        ("    return sum(xs) / len(xs)\n", ""),
        ("    return max(xs, key=lambda x: x.size)\n", ""),
        ("    with open(xs) as file:\n        return file.read()\n", ""),
        ("    import os\n    os._exit(0)\n", "hidden name"),
        ("    import sys\n    return sys._getframe(1)\n", "hidden name"),
        ("    return eval(xs)\n", "builtin"),
        ("    return getattr(xs, 'a' + 'b')\n", "computed attribute"),
        ("    open('x', 'w').write('y')\n", "writing"),
        ("    import logging\n    logging.addLevelName(20, 'X')\n", "shared state"),
        ("    import json\n    json.dumps = str\n", "module or class attribute"),
        ("    return type('A', (), {})\n", "made class"),
        ("    import ctypes\n", "import"),
        ("    import sys\n    return sys.version_info > (3,)\n", "surroundings"),
        ("    from platform import system\n    return system()\n", "surroundings"),
        ("    import time\n    return time.time() - xs\n", ""),
        ("    from time import time\n    xs.x = time()\n    return 1 if xs.x > 9 else 2\n", "surroundings"),
        ("    import os\n    return [1, 2]['CI' in os.environ]\n", "surroundings"),
        ("    import os\n    return os.path.exists(xs)\n", ""),
        ("    from os import path\n    return path.exists('x')\n", "surroundings"),
        ("    import logging\n    return logging.getLogger('a').level\n", "surroundings"),
        ("    return xs == '__main__'\n", ""),
        ("    return xs.__module__ == '__main__'\n", "name in a string"),
        ("    return xs('__main__')\n", "name in a string"),
        ("    return len.__self__\n", "special attribute"),
        ("    return __builtins__\n", "builtin"),
        ("    return sx\n", "unknown name"),
        ("    import logging\n    return logging.sys\n", "narrow module"),
        ("    import re\n    return re._compiler\n", "narrow module"),
        ("    import re\n    return re.escape(xs)\n", ""),
        ("    return xs.tool.sys\n", "narrow module"),
        ("    return ('{0' + '.a}').format(xs)\n", "computed format"),
        ("    return ('{}' + ', {:.2f}').format(xs, 1)\n", ""),
        ("    return [f(f) for f in [type]][0]('A', (), {})\n", "made class"),
        ("    import decimal\n    for x in [decimal.Decimal]:\n        x.a = 1\n", "module or class attribute"),
        ("    import sys\n    sys.stdout.close()\n", "shared state"),
    ],
)
def test_plain_code(added: str, kind: str) -> None:
    old, new = b"def f(xs):\n    return xs\n", f"def f(xs):\n{added}".encode()
    found = plain.find({"m.py": old}, {"m.py": new}, {"m"})
    assert [at[0] for at in found[:1]] == ([kind] if kind else [])


@pytest.mark.parametrize("path", ["json.py", "sitecustomize.py", "other/x.py", "m/data.bin", "a-b.py", "x.pth"])
def test_new_files_that_are_not_modules_of_the_project(path: str) -> None:
    assert plain.find({path: None}, {path: b"x = 1\n"}, {"m", "json"})[0][0] == "file"


def test_what_was_there_before_is_plain() -> None:
    old = b"import os\n\ndef f(xs):\n    os._exit(1)\n"
    assert plain.find({"m.py": old}, {"m.py": old.replace(b"(1)", b"(2)")}, {"m"}) == []


def test_files_in_another_form_behave_as_before() -> None:
    text = b"def f(xs):\n    '''Doc.'''\n    # a comment\n    out = 0\n    for x in xs:\n        out += x\n    return out\n"
    other = tree_variants.rewritten({"m.py": text}, {}, "seed", "mark", set())["m.py"]
    space: dict = {}
    exec(other, space)
    assert space["f"]([1, 2]) == 3 and space["f"].__doc__ == "Doc."
    assert b"a comment" not in other and space["f"].__code__.co_firstlineno > 9


def test_an_outcome_is_read_from_exit_and_tracebacks() -> None:
    outcome = Outcome(1, True, TRACEBACK, b"", "reproducer.py")
    caught = outcome.assertion()
    assert caught is not None and caught.lines("reproducer.py") == [2]
    assert Outcome(0, True, TRACEBACK, b"", "reproducer.py").assertion() is None
    assert not Outcome(1, False, TRACEBACK, b"", "reproducer.py").failed


def test_a_verdict_is_repeated_from_its_seed() -> None:
    """A process that has not seen the earlier steps must repeat the verdict, too."""
    files = pack([b"m.py", b"+def f(x):\n    return x + 2\n", b"+def f(x):\n    return x + 1\n"])
    state = {"seed": "1", "tree": "/t", "file": "reproducer.py", "packages": ["m"], "exits": [[1, True]]}
    streams, asked = [TRACEBACK, b""], []
    for _ in range(4):
        fields = [json.dumps(state).encode(), b"from m import f\nassert f(1) == 2\n", files, *streams]
        first = service.step(pack(fields))
        service._sessions.clear()
        assert service.step(pack(fields)) == first
        asked.append(json.loads(unpack(first)[0]))
        state["exits"].append([0, True])
        streams += [b"", b""]
    assert asked[0]["run"]["name"] == "observed"
    assert "does not agree" in asked[-1].get("refusal", "does not agree")


def test_a_script_whose_right_result_is_empty_is_told_what_to_add() -> None:
    before = "def days(n):\n    return n\n"
    why, _ = verdict("from m import days\nassert days(-4) == 0\n", {"m.py": before.encode()},
                     {"m.py": before.replace("return n", "return max(n, 0)").encode()})  # fmt: skip
    assert why.endswith("the script passed; also assert a result that is not empty, 0, False or None")


def test_a_changed_equality_says_what_to_do() -> None:
    before = "class V(int):\n    def __eq__(self, o):\n        return False\n\n\ndef make():\n    return V(1)\n"
    after = before.replace("False", "int(self) == int(o)")
    why, _ = verdict("from m import make\n\nassert make() == 1\n", {"m.py": before.encode()}, {"m.py": after.encode()})
    assert "(line 3: `assert make() == 1`)" in why
    assert why.endswith("the script relies on `__eq__` of V, which the patch changes; use --validate")
