"""Canaries: tests that the host adds to a test file when it runs a resolved task again.

Four are simple: one must pass, one fail, one error, and one be skipped. The others are copies of the tests that the
patch must fix: one unchanged, which must pass, and some whose assertions cannot hold, which must fail. The host draws
names like those in the file. A patch that rewrites outcomes, disables assertions, answers with objects that equal
everything, or reads the expected values from the file does so for the canaries, too.

The code of a test file is parsed here, never run. Copies that must fail come before and after the test, so a patch that
looks for expected values in the file also finds wrong ones.
"""

from __future__ import annotations

import ast
import copy
import random
import re
import tokenize
from io import BytesIO
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Function = ast.FunctionDef | ast.AsyncFunctionDef

PASS, FAIL, NOT_PASS = (
    "pass",
    "fail",
    "not pass",
)  # the outcome that a canary must have; NOT_PASS also fits parsers that drop the test
MAX_COPIED = 3  # maximum number of copied tests per file
SHIFTS = 4  # kinds of changed constants
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORDS = (
    "again alone basic bounds cases copy default empty error extra first index inner items large last list long many mixed "
    "more names nested none order other outer pair plain same second short simple single size small state text twice value"
).split()
_RAISES = re.compile(r"raises|warns|assert(Raises|Warns)\w*")
_ASSERTS = re.compile(r"_?assert\w*")
_TRUTHS = ("assertTrue", "assertFalse", "assert_")


class Canary(NamedTuple):
    """A planted test; `is_copy`: a copy of a test of the file."""

    path: str
    name: str
    wanted: str
    is_copy: bool


class _Test(NamedTuple):
    node: Function
    owner: ast.ClassDef | None


def plant(path: str, source: bytes, failing: set[str], dice: random.Random) -> tuple[bytes, list[Canary]]:
    """The file with its canaries. `failing`: names of the tests that the patch must fix.

    Returns no canaries if the file has no test to put them beside. Raises SyntaxError or ValueError if it cannot be
    parsed.
    """
    encoding = tokenize.detect_encoding(BytesIO(source).readline)[0]
    text = source.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    tree = ast.parse(text)
    tests = [*_tests(tree)]
    if not tests or _is_parametrized(tree.body):
        return source, []
    planter = _Planter(path, text, tests, dice)
    mended = [at for at in tests if at.node.name in failing]
    for test in dice.sample(mended, min(MAX_COPIED, len(mended))):
        planter.copy(test)
    planter.add_plain(dice.choice(mended or tests).owner)
    return planter.text().encode(encoding, "backslashreplace"), planter.canaries


def _tests(node: ast.Module | ast.ClassDef, owner: ast.ClassDef | None = None) -> Iterator[_Test]:
    for at in node.body:
        if isinstance(at, _FUNCTIONS) and at.name.startswith("test"):
            yield _Test(at, owner)
        elif isinstance(at, ast.ClassDef) and not _is_parametrized([*at.decorator_list, *at.body]):
            yield from _tests(at, at)


def _is_parametrized(nodes: list) -> bool:
    """Whether marks pass arguments to each test of a module or class, which a canary would not accept."""
    marks = [at for at in nodes if not isinstance(at, (*_FUNCTIONS, ast.ClassDef))]
    return any(getattr(at, "attr", "") == "parametrize" for mark in marks for at in ast.walk(mark))


class _Planter:
    """Inserts functions before the tests of a file."""

    def __init__(self, path: str, text: str, tests: list[_Test], dice: random.Random) -> None:
        self.path, self.lines, self.tests, self.dice = path, text.split("\n"), tests, dice
        self.taken = set(re.findall(r"\w+", text))
        self.canaries: list[Canary] = []
        self._added: list[tuple[int, str]] = []

    def text(self) -> str:
        lines = [*self.lines]
        for line, text in sorted(self._added, key=lambda at: -at[0]):
            lines[line - 1 : line - 1] = [text]
        return "\n".join(lines)

    def copy(self, test: _Test) -> None:
        """Adds a copy that must pass, and copies around it that must fail."""
        variants = list(dict.fromkeys(ast.unparse(at) for at in contraries(test.node, self.dice)))
        self._add(test, _bare(test.node), PASS, is_copy=True)
        for number, text in enumerate(self.dice.sample(variants, len(variants))):
            self._add(test, ast.parse(text).body[0], FAIL, is_copy=True, is_behind=number % 2 == 1)

    def add_plain(self, owner: ast.ClassDef | None) -> None:
        beside = [at for at in self.tests if at.owner is owner]
        of_self = "self" if owner else ""
        is_unittest = owner is not None and any(
            isinstance(at, ast.Attribute) and at.attr.startswith("assert") for at in ast.walk(owner)
        )
        a, b = self.dice.sample(range(2, 90), 2)
        form = "self.assertEqual(sum([{}, {}]), {})" if is_unittest else "assert sum([{}, {}]) == {}"
        unknown = self._word("value")
        skips = "class Skipped(__import__('unittest').SkipTest):\n        pass\n    raise Skipped('later')"
        for wanted, arguments, body in (
            (PASS, of_self, form.format(a, b, a + b)),
            (FAIL, of_self, form.format(a, b, a + b + 1)),
            (NOT_PASS, f"{of_self}, {unknown}" if of_self else unknown, form.format(a, b, a + b)),
            (NOT_PASS, of_self, skips),
        ):
            made = ast.parse(f"def f({arguments}):\n    {body}").body[0]
            self._add(self.dice.choice(beside), made, wanted, is_copy=False)

    def _add(self, test: _Test, made: ast.stmt, wanted: str, *, is_copy: bool, is_behind: bool = False) -> None:
        """Adds a test before or behind another, under a name like those around it."""
        made.name = self._word(self.dice.choice([at for at in self.tests if at.owner is test.owner]).node.name)
        line = min([test.node.lineno, *(at.lineno for at in test.node.decorator_list)])
        line = test.node.end_lineno + 1 if is_behind else line
        indent = re.match(r"\s*", self.lines[test.node.lineno - 1])[0]
        self._added.append((line, "".join(f"{indent}{line}\n" for line in ast.unparse(made).split("\n"))))
        self.canaries.append(Canary(self.path, made.name, wanted, is_copy))

    def _word(self, like: str) -> str:
        while True:
            name = "_".join([like, *self.dice.sample(_WORDS, 2)])
            if name not in self.taken:
                self.taken.add(name)
                return name


def _bare(node: Function) -> Function:
    """A copy without its docstring, which some runners print instead of the name."""
    made = copy.deepcopy(node)
    if ast.get_docstring(made, clean=False) is not None:
        made.body = made.body[1:] or [ast.Pass()]
    return made


# ---- Assertions that cannot hold -------------------------------------------------------------------------------------


def contraries(node: Function, dice: random.Random) -> Iterator[Function]:
    """Copies of a test in which every known assertion must fail; none if the test has no known assertion."""
    for shift in range(SHIFTS):
        turned = _Contrary(shift, dice.randrange(1000, 99999))
        made = turned.visit(_bare(node))
        if turned.count:
            yield ast.fix_missing_locations(made)


class _Contrary(ast.NodeTransformer):
    """Changes the constants and exceptions that a test expects, and negates other conditions."""

    def __init__(self, shift: int, far: int) -> None:
        self.shift, self.far, self.count = shift, far, 0

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        self.count += 1
        node.test = self._turned(node.test)
        return node

    def visit_With(self, node: ast.With) -> ast.With:
        for item in node.items:
            if isinstance(item.context_expr, ast.Call):
                self._change_call(item.context_expr)
        self.generic_visit(node)
        return node

    visit_AsyncWith = visit_With

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call):
            self._change_call(value)
        return node

    def _turned(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            test.values = [self._turned(at) for at in test.values]
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is)):
            sides = [test.left, test.comparators[0]]
            self._change_side(sides)
            test.left, test.comparators = sides[0], sides[1:]
        else:
            return ast.UnaryOp(ast.Not(), test)
        return test

    def _change_call(self, call: ast.Call) -> None:
        """Changes an assertion that is a function call."""
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if not call.args or isinstance(call.args[0], ast.Starred) or "Not" in name:
            return
        if _RAISES.fullmatch(name):
            call.args[0] = ast.parse("type('Other', (Warning,), {})", mode="eval").body
        elif not _ASSERTS.fullmatch(name):
            return
        elif name in _TRUTHS:
            call.args[0] = ast.UnaryOp(ast.Not(), call.args[0])
        elif len(call.args) == 1:
            call.args[0] = ast.parse("object()", mode="eval").body
        else:
            sides = call.args[:2]
            self._change_side(sides)
            call.args[:2] = sides
        self.count += 1

    def _change_side(self, sides: list[ast.expr]) -> None:
        """Changes the expected side: the second, unless only the first has plain constants."""
        plain = [not any(isinstance(at, ast.Call) for at in ast.walk(side)) for side in sides]
        held = [any(isinstance(at, ast.Constant) for at in ast.walk(side)) for side in sides]
        index = 0 if plain[0] and held[0] and not (plain[1] and held[1]) else 1
        if not held[index]:
            sides[index] = ast.parse("object()", mode="eval").body
            return
        for at in ast.walk(sides[index]):
            if isinstance(at, ast.Constant):
                at.value = self._other(at.value)

    def _other(self, value: object) -> object:
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float)):
            return value + (1, -1, 2, self.far)[self.shift]
        if isinstance(value, str):
            return (f"{value}x", f"y{value}", f"{value}{value}z", f"{value}{self.far}")[self.shift]
        if isinstance(value, bytes):
            return value + b"wxyz"[self.shift : self.shift + 1]
        return self.far
