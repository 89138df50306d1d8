"""Finds the comparisons in a script's tests: their two sides, and which side states the expected value."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import inspect
import types
import typing
from typing import NamedTuple

from acr.experiments.plain_names import LIBRARY
from acr.experiments.site import is_stop, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.experiments.site import Site

ORDERS = ("Lt", "LtE", "Gt", "GtE")
NEAR = ("isclose", "assertAlmostEqual")
_EQUAL = {"assertEquals", *(f"assert{kind}Equal" for kind in ("", "List", "Dict", "Tuple", "Set", "MultiLine"))}
SIDED = {*NEAR, *_EQUAL, "assertCountEqual", "assertSequenceEqual"}
_CLASSES = {"isinstance", "assertIsInstance"}
# For each assertion of unittest, the operator by which it compares its first two arguments.
_UNITTEST = {
    "assertNotEqual": "NotEq", "assertIs": "Is", "assertIsNot": "IsNot", "assertIn": "In", "assertNotIn": "NotIn",
    "assertGreater": "Gt", "assertGreaterEqual": "GtE", "assertLess": "Lt", "assertLessEqual": "LtE",
}  # fmt: skip
# Other functions that compare their arguments by rules of their own, so variants change only the expected value.
LIKE = {
    "assertRegex", "assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_equal",
    "assert_identical", "assert_frame_equal", "assert_series_equal",
}  # fmt: skip
# Keywords that say how near two values must be.
_TOLERANCES = {"rtol", "atol", "rel_tol", "abs_tol", "decimal", "significant", "places", "delta"}
_NONE = {"assertIsNone": "Is", "assertIsNotNone": "IsNot"}
EXCLUDES = {("NotEq", True), ("Eq", False), ("IsNot", True), ("Is", False), ("NotIn", True), ("In", False)}
_KINDS = {*dir(types), *collections.abc.__all__}  # classes of functions, iterators and the like
_FOREIGN = LIBRARY | {"numpy", "pytest"}
_ASSERTING = ("assert", "check", "expect", "verify", "ensure", "require", "must")


class Slot(NamedTuple):
    """A place in a syntax tree: a node and its field, or a list and an index."""

    holder: object
    field: object

    def get(self) -> ast.expr:
        return (self.holder if isinstance(self.holder, list) else vars(self.holder))[self.field]  # type: ignore

    def put(self, new: ast.expr) -> None:
        (self.holder if isinstance(self.holder, list) else vars(self.holder))[self.field] = new  # type: ignore


class Pair:
    """A comparison of two sides.
    how: the operator ("Eq"), the function ("isclose"), "difference" for `abs(a - b) < c`, "helper" for a function that
    may compare its arguments (`call`), "truth" for a test of `left` alone, "given" for data of the project that the
    comparison also gets. holds: True or False if the script needs that result, None if another part may decide.
    is_right: the right side states the expected value. is_relation: both sides come from the same result.
    """

    def __init__(
        self, how: str, holds: bool | None, left: Slot, right: Slot | None = None, call: Slot | None = None
    ) -> None:
        self.how, self.holds, self.left, self.right, self.call = how, holds, left, right or left, call
        self.is_right = right is None or how in ("difference", "helper") or expected_is_right(left.get(), right.get())
        if how == "In" and _gives(right.get()) and not _gives(left.get()):  # type: ignore[union-attr]
            self.is_right = False  # what the result must contain
        called = {ast.unparse(getattr(at.get(), "func", at.get())) for at in (left, right or left)}
        hashes = right is not None and called == {"hash"}
        self.is_relation = hashes or right is not None and _are_related(left.get(), right.get())
        self.is_vague = (
            hashes or _is_vague(how, holds, left.get(), self.right.get()) or _only_looks(left.get(), self.right.get())
        )
        self.is_judged = False  # a function of the project may decide whether a result of the project is right
        self.is_noted = False  # other code of the script decides by the result
        self.tags = ("", "")  # the tag of the printed value, and that of the other side
        self.listed: list[tuple[str, list[ast.expr]]] = []  # a side's text, and the values that must all occur there

    @property
    def equal(self) -> bool:
        """Whether both sides must be equal."""
        if self.how in ("Eq", "NotEq"):
            return self.holds is (self.how == "Eq")
        return self.how in _EQUAL | {"assertAlmostEqual"} and self.holds is True

    @property
    def is_near(self) -> bool:
        """Whether a function of a library decides whether both sides are near, by its own tolerance."""
        call = self.call.get() if self.call else None
        given = {at.arg: getattr(at.value, "value", None) for at in getattr(call, "keywords", [])}
        loose = [at for name, at in given.items() if name in ("rtol", "atol", "decimal")]
        by_function = tail(call) in LIKE | {"allclose", "array_equal"} and self.holds is True
        return self.how in NEAR or by_function and all(isinstance(at, float) and at <= 0.01 for at in loose)

    @property
    def expected(self) -> Slot:
        return self.right if self.is_right else self.left


def expected_is_right(left: ast.expr, right: ast.expr) -> bool:
    """Whether the right side states the expected value. The side without names and calls states it; if both sides have
    some, or neither has, the right side does."""
    plain = [is_literal(left), is_literal(right)]
    return plain[1] or not plain[0]


def _is_vague(how: str, holds: bool | None, left: ast.expr, right: ast.expr) -> bool:
    """Whether a comparison states no particular value: it only excludes a value, or tests for presence or for a type."""
    if how == "truth":
        return tail(left) in ("hasattr", "callable")
    if (how, holds) in EXCLUDES:
        none = any(isinstance(at, ast.Constant) and at.value is None for at in (left, right))
        return none or not how.startswith("Is") or any(tail(at).isupper() for at in (left, right))
    if how in _CLASSES:
        return holds is False or _is_builtin_class(right)
    if how in ("Eq", "Is"):
        named = isinstance(left, ast.Attribute) and left.attr in ("__name__", "__qualname__")
        of_class = left.value if named else left  # type: ignore[attr-defined]
        return tail(of_class) in ("type", "__class__") and _is_builtin_class(right)
    if how == "In":
        return tail(right) in ("dir", "vars", "__dict__", "__slots__")
    if how in ("Lt", "LtE"):
        left, right, how = right, left, how.replace("Lt", "Gt")
    return (how, ast.unparse(right)) in (("Gt", "0"), ("GtE", "1")) and tail(left) == "len"


def _is_builtin_class(node: ast.expr) -> bool:
    """Whether an expression names one or several built-in classes of values, not exceptions or special-purpose classes."""
    names = [str(getattr(at, "id", getattr(at, "value", ""))) for at in getattr(node, "elts", [node])]
    kinds = [getattr(builtins, at, None) for at in names]
    return tail(node) in _KINDS or all(isinstance(at, type) and at.__name__[:1].islower() for at in kinds)


def is_literal(node: ast.AST) -> bool:
    return not any(isinstance(x, (ast.Name, ast.Call)) for x in ast.walk(node))


def top(node: ast.AST) -> ast.AST:
    while hasattr(node, "up"):
        node = node.up
    return node


def origin(node: ast.expr) -> ast.expr:
    """The expression that computed a name, if the script assigns the name exactly once."""
    given = _givers(top(node)).get(node.id, []) if isinstance(node, ast.Name) else []
    is_one = len(given) == 1 and not isinstance(given[0], ast.Starred)
    return given[0] if is_one and not any(getattr(x, "id", "") == node.id for x in ast.walk(given[0])) else node  # type: ignore


def _returned(call: ast.expr) -> ast.expr:
    """The expression that a function of the script returns, if it does nothing else; otherwise the call itself."""
    own = [x for x in ast.walk(top(call)) if isinstance(x, ast.FunctionDef) and x.name == tail(call)]
    inner = [x for at in own for x in ast.walk(at)]
    gives = [x.value for x in inner if isinstance(x, ast.Return)]
    repeats = any(isinstance(x, ast.Call) and tail(x) == tail(call) for x in inner)
    return gives[0] if len(gives) == 1 and gives[0] and isinstance(call, ast.Call) and not repeats else call


def bound(target: ast.AST, value: ast.AST, is_loop: bool = False) -> Iterator[tuple[str, ast.AST]]:
    """The names of a target, with the expressions of their values; an expression whose elements they get is starred."""
    if isinstance(target, ast.Name):
        yield target.id, ast.Starred(value) if is_loop else value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts, is_known = getattr(value, "elts", []), not is_loop
        if is_loop and parts and all(len(getattr(at, "elts", [])) == len(target.elts) for at in parts):
            columns = zip(*(at.elts for at in parts))
            parts, is_known = [ast.List([*at], ast.Load()) for at in columns], True
        if is_loop and isinstance(value, ast.Call) and tail(value) in ("zip", "enumerate"):
            parts, is_known = [ast.Constant(0)] * (tail(value) == "enumerate") + value.args, True
        is_known = is_known and len(parts) == len(target.elts)
        for at, part in zip(target.elts, parts if is_known else [value] * len(target.elts)):
            yield from bound(at, part, is_loop or not is_known)


def _givers(tree: ast.AST) -> dict[str, list[ast.AST]]:
    """Name -> the expressions that a script assigns to it."""
    if not hasattr(tree, "givers"):
        tree.givers = {}  # type: ignore[attr-defined]
        for x in ast.walk(tree):
            is_loop = isinstance(x, (ast.For, ast.AsyncFor, ast.comprehension))
            value = x.iter if is_loop else x.value if isinstance(x, (ast.Assign, ast.NamedExpr)) else None
            for target in getattr(x, "targets", [getattr(x, "target", None)]) if value else []:
                for name, given in bound(target, value, is_loop):
                    tree.givers.setdefault(name, []).append(given)  # type: ignore[attr-defined]
    return tree.givers  # type: ignore[attr-defined]


def project_names(tree: ast.AST) -> set[str]:
    """The names that a script imports from the project."""
    if not hasattr(tree, "project"):
        found = [(x, a) for x in ast.walk(tree) if isinstance(x, (ast.Import, ast.ImportFrom)) for a in x.names]
        own = [a for x, a in found if (getattr(x, "module", None) or a.name).split(".")[0] not in _FOREIGN]
        tree.project = {(a.asname or a.name).split(".")[0] for a in own}  # type: ignore[attr-defined]
    return tree.project  # type: ignore[attr-defined]


def value_parts(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every expression from which a value is computed, with the name that it is assigned to, or ""."""
    givers, seen, near = _givers(top(node)), set(), [("", node)]
    while near:
        name, at = near.pop()
        yield name, at
        for x in ast.walk(at):
            if isinstance(x, ast.Name) and x.id not in seen:
                seen.add(x.id)
                near += [(x.id, given) for given in givers.get(x.id, [])]


def _calls(node: ast.AST, project: set[str]) -> bool:
    """Whether an expression calls a function of the project; calls of classes do not count."""
    calls = [x.func for x in ast.walk(node) if isinstance(x, ast.Call) and not tail(x)[:1].isupper()]
    return any(isinstance(y, ast.Name) and y.id in project for at in calls for y in ast.walk(at))


def _gives(node: ast.AST) -> bool:
    """Whether a value is computed by a function of the project."""
    return any(_calls(at, project_names(top(node))) for _, at in value_parts(node))


def _are_related(left: ast.expr, right: ast.expr) -> bool:
    """Whether neither side is an expectation, because both are computed from one result of the project, or by one of its
    functions from the script's data."""
    project = project_names(top(left))
    calls = [x for x in (left, right) if isinstance(x, ast.Call) and _calls(x, project)]
    if len({ast.dump(x.func) for x in calls}) == 1 < len(calls):
        return not any(_calls(part, project) for x in calls for at in x.args for _, part in value_parts(at))
    # the names of variables that hold results of the project's functions
    one, other = ({name for name, at in value_parts(side) if name and _calls(at, project)} for side in (left, right))
    return bool(one & other)


def names_project(node: ast.AST, project: set[str]) -> bool:
    """Whether an expression only names something of the project, as `m.LIMIT` does."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in project


def is_given(pair: Pair) -> bool:
    """Whether the expected side only names data of the project, and the other side is the result of a function."""
    return _gives(pair.left.get()) and names_project(pair.right.get(), project_names(top(pair.left.get())))


def project_uses(node: ast.AST, project: set[str], seen: set[str]) -> Iterator[bool]:
    """For each use of a name of the project in the computation of a value: whether this use reads or runs the named object,
    and does not only inspect its declaration."""
    if _is_look(node, project):
        yield False
    elif isinstance(node, ast.Name) and node.id in project:
        yield True
    elif isinstance(node, ast.Name) and node.id not in seen:
        seen.add(node.id)
        for given in _givers(top(node)).get(node.id, []):
            yield from project_uses(given, project, seen)
    else:
        for at in ast.iter_child_nodes(node):
            yield from project_uses(at, project, seen)


def _is_look(node: ast.AST, project: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        of_class = names_project(node.value, project) or tail(node.value) in ("type", "__class__")
        return of_class and node.attr.startswith("__") and node.attr not in ("__name__", "__qualname__", "__class__")
    if not isinstance(node, ast.Call) or not node.args or not names_project(node.args[0], project):
        return False
    name = getattr(node.args[1], "value", "") if tail(node) == "getattr" else ""
    looks = tail(node) in ("issubclass", "type") or any(hasattr(at, tail(node)) for at in (inspect, typing))
    return looks or str(name).startswith("__")


def _only_looks(*sides: ast.expr) -> bool:
    """Whether both sides are computed only from declarations of the project's functions and classes, not from results."""
    uses = [use for at in sides for use in project_uses(at, project_names(top(at)), set())]
    return bool(uses) and not any(uses)


def difference(test: ast.expr) -> ast.BinOp | None:
    """`a - b` of `abs(a - b) < tolerance`."""
    left = test.left if isinstance(test, ast.Compare) else test
    return next((x for x in ast.walk(left) if isinstance(x, ast.BinOp) and isinstance(x.op, ast.Sub)), None)


def pairs(site: Site) -> list[Pair]:
    """The comparisons of the site."""
    tests = [(Slot(node, field), want if site.is_sure else None) for node, field, want in site.tests()]
    found = [pair for at, want in tests for pair in of_test(at, want)]
    if not site.test and site.kind in ("call", "statement"):
        found = list(of_call(site.at, True))
    project, known = project_names(site.tree), [at.get() for pair in found for at in (pair.left, pair.right)]
    inner = [at for at in ast.walk(site.at) if isinstance(at, ast.keyword) and site.kind in ("call", "test")]
    given = [at for at in inner if names_project(at.value, project) and at.value not in known]
    return found + [Pair("given", None, Slot(at, "value")) for at in given]


def others(site: Site, known: list[Pair]) -> list[Pair]:
    """The comparisons in the rest of the script."""
    found = []
    judges = {tail(pair.call.get()) for pair in known if pair.call} - {""}
    for at in ast.walk(site.tree):
        if isinstance(at, ast.Assert) and at is not site.at:
            found += of_test(Slot(at, "test"), True)
        elif isinstance(at, ast.Compare):
            found += _of_compare(Slot([at], 0), None)
        elif isinstance(at, ast.If) and any(map(is_stop, at.body)):
            found += of_test(Slot(at, "test"), False)
        elif isinstance(at, ast.Expr):
            found += of_call(at, tail(at.value) in judges)
    places: dict[object, Pair] = {}
    for pair in [*known, *found]:
        places.setdefault((id(pair.left.holder), pair.left.field), pair)
    return [pair for pair in places.values() if pair not in known]


def of_call(at: ast.AST, is_site: bool) -> Iterator[Pair]:
    """The pair of a call that raises the AssertionError; outside the site, the called name must begin like an assertion."""
    call = getattr(at, "value", None)
    if isinstance(call, ast.Call) and tail(call) in {*SIDED, *_CLASSES, *_UNITTEST} and len(call.args) > 1:
        yield Pair(_UNITTEST.get(tail(call), tail(call)), True, Slot(call.args, 0), Slot(call.args, 1))
    elif isinstance(call, ast.Call) and tail(call) in _NONE and call.args:
        yield Pair(_NONE[tail(call)], True, Slot(call.args, 0), Slot([ast.Constant(None)], 0))
    elif isinstance(call, ast.Call) and (is_site or tail(call).startswith(_ASSERTING)):
        yield from _of_judge(Slot(at, "value"), True)


def _of_helper(place: Slot, want: bool | None) -> Iterator[Pair]:
    """The pairs that a function of the project might compare: the first computed argument with each of the others."""
    call = place.get()
    slots = [at for at in _operands(call) if not isinstance(at.get(), (ast.Starred, ast.Lambda, ast.GeneratorExp))]
    computed = next((at for at in slots if not is_literal(at.get())), None)
    if computed and not any(isinstance(x, (ast.Await, ast.Yield, ast.NamedExpr)) for x in ast.walk(call)):
        yield from (Pair("helper", want, computed, at, place) for at in slots[:9] if at is not computed)


def _of_judge(place: Slot, want: bool | None) -> Iterator[Pair]:
    """The pairs of a function that may itself decide whether a result of the project is right."""
    for pair in _of_helper(place, want):
        pair.is_judged = _gives(pair.left.get())
        yield pair


def value_of(node: ast.expr | str, unknown: object = None) -> object:
    """The value of an expression, or of its text, that contains only constants."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return unknown


def _noted(node: ast.expr, value: object) -> list[Pair]:
    """The comparisons whose results are stored in an expression that must equal `value`."""
    node, tests = _returned(origin(node)), []
    if isinstance(node, ast.IfExp) and all(isinstance(at, ast.Constant) for at in (node.body, node.orelse)):
        tests = [(Slot(node, "test"), node.body.value == value)]  # type: ignore[attr-defined]
    elif isinstance(node, (ast.List, ast.Tuple)) and node.elts and all(map(_is_test, node.elts)):
        wants = list(value) if isinstance(value, (list, tuple)) else [value] * len(node.elts)
        tests = [(Slot(node.elts, number), bool(want)) for number, want in enumerate(wants[: len(node.elts)])]
    elif _is_test(node):
        tests = [(Slot([node], 0), bool(value))]
    found = [pair for at, want in tests for pair in of_test(at, want)]
    for pair in found:
        pair.holds, pair.is_noted = None, True
    return found


def _is_test(node: ast.expr) -> bool:
    negates = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    asks = isinstance(node, ast.Call) and tail(node) in ("bool", "any", "all", "hasattr", "callable", "isinstance")
    return negates or asks or isinstance(node, (ast.Compare, ast.BoolOp))


def _operands(call: ast.AST) -> Iterator[Slot]:
    """The arguments of a call, and the arguments of the calls in the expression on which it is called."""
    if isinstance(call, ast.Call):
        yield from _operands(call.func)
        yield from (Slot(call.args, number) for number in range(len(call.args)))
        flags = [at for at in call.keywords if getattr(at.value, "value", "") in (True, False, None)]
        known = [at for at in call.keywords if isinstance(at.value, ast.Constant) and at.arg in _TOLERANCES]
        yield from (Slot(at, "value") for at in call.keywords if at not in flags + known)
    elif isinstance(call, ast.Attribute):
        yield from _operands(call.value)


def of_test(place: Slot, want: bool | None) -> list[Pair]:
    """The comparisons of a test whose result must be `want`."""
    test = place.get()
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return of_test(Slot(test, "operand"), None if want is None else not want)
    if isinstance(test, ast.BoolOp):
        sure = want if isinstance(test.op, ast.And) == want else None
        return [pair for at in range(len(test.values)) for pair in of_test(Slot(test.values, at), sure)]
    if isinstance(test, ast.Compare):
        return list(_of_compare(place, want))
    if isinstance(test, ast.Call):
        return _of_test_call(test, place, want)
    if isinstance(test, ast.ListComp) and want is False and len(test.generators[0].ifs) == 1:
        return of_test(Slot(test.generators[0].ifs, 0), False)
    return [Pair("truth", want, place)] if not isinstance(test, ast.Constant) else []


def _of_test_call(test: ast.Call, place: Slot, want: bool | None) -> list[Pair]:
    name = tail(test)
    if name in SIDED | _CLASSES and len(test.args) > 1:
        return [Pair(name, want, Slot(test.args, 0), Slot(test.args, 1))]
    if name == "all" and isinstance(test.func, ast.Attribute) and isinstance(test.func.value, ast.Compare):
        return of_test(Slot(test.func, "value"), want or None)
    if name in ("any", "all", "bool") and len(test.args) == 1:
        want = want if name == "bool" or (name == "all") == want else None
        if isinstance(test.args[0], (ast.GeneratorExp, ast.ListComp)):
            return of_test(Slot(test.args[0], "elt"), want)
        is_one = name == "bool" or isinstance(test.args[0], ast.Compare)  # of arrays
        return ([] if is_one else _noted(test.args[0], True)) or of_test(Slot(test.args, 0), want)
    given = _returned(test)
    noted = _noted(given, True) if want and given is not test else []
    truth = Pair("truth", want, place)
    truth.is_vague = truth.is_vague or bool(noted)
    return [truth, *noted, *_of_judge(place, want)]


def _of_compare(place: Slot, want: bool | None) -> Iterator[Pair]:
    test = place.get()
    sides = [Slot(test, "left"), *(Slot(test.comparators, number) for number in range(len(test.ops)))]
    for left, op, right in zip(sides, test.ops, sides[1:]):
        how = type(op).__name__
        inner = difference(test) if how in ORDERS and left is sides[0] else None
        if inner:
            yield Pair("difference", want, Slot(inner, "left"), Slot(inner, "right"))
        pair = Pair(how, want if want or len(test.ops) == 1 else None, left, right)
        noted = _noted(left.get(), value_of(right.get())) if how in ("Eq", "Is") and is_literal(right.get()) else []
        pair.is_vague = pair.is_vague or bool(noted)
        yield from (pair, *noted)
        for slot, other in ((left, right), (right, left)):
            if isinstance(slot.get(), ast.Call) and is_literal(other.get()):
                yield from _of_helper(slot, want)
