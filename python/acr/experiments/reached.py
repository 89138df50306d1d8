"""Finds what a passing script must have done: which assertions it reached, and which values it compared."""

from __future__ import annotations

import ast
import re

from acr.experiments.comparisons import Slot, bound, of_call, of_test, origin, project_names, project_uses, top
from acr.experiments.site import FUNCTIONS, LOOPS, ancestors, is_stop, leaves, stops, tail, waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_WITH, _IMPORTS, _CASE = (ast.With, ast.AsyncWith), (ast.Import, ast.ImportFrom), getattr(ast, "match_case", ())
# Words in tests that ask for the machine, versions or modules.
_MACHINE = r"\b(sys|os|platform|__version__|hasattr|find_spec|which)\b|HAS_|version_info|[Ss]kip"
_RUNS_TESTS, _CHOOSES_TESTS = r"unittest\.main|pytest\.main|TestRunner|globals\(\)", r"::|'-k|'\w*\.?test_|skipTest"
_SAME = ("iter", "list", "tuple", "sorted", "reversed", "deque", "dict", "zip", "enumerate", "len", "print")


def tag(at: ast.stmt) -> str:
    """The tag of the row that reports a reached assertion: "M" with its line, and "s" if each passing run reaches the
    assertion; "" if the statement is no assertion, or is reached only to fail."""
    call = at.items[0].context_expr if isinstance(at, _WITH) else at.value if isinstance(at, ast.Expr) else None
    asks = isinstance(at, ast.Assert) or isinstance(at, ast.If) and any(map(is_stop, at.body))
    states, around = asks or isinstance(call, ast.Call) and re.match("assert|raises$", tail(call)), [*ancestors(at)]
    if not states or is_stop(at) or any(waits(up) or isinstance(up, ast.ExceptHandler) and stops(up) for up in around):
        return ""
    found = of_test(Slot(at, "test"), isinstance(at, ast.Assert)) if asks else of_call(at, True)
    excludes = _in_loop(at) and {pair.is_vague for pair in found} == {True}
    is_due = not excludes and not any(_may_avoid(up, down) for down, up in zip([at, *around], around))
    return f"M{at.lineno}_{at.col_offset}{is_due * 's'}"


def _in_loop(at: ast.AST) -> bool:
    return any(isinstance(up, LOOPS) or hasattr(up, "generators") for up in ancestors(at))


def _may_avoid(at: ast.AST, down: ast.AST) -> bool:
    """Whether a passing run may never reach the part `down` of a statement."""
    if isinstance(at, FUNCTIONS):
        text, name = ast.unparse(top(at)), getattr(at, "name", "")
        runs = name.startswith("test") and re.search(_RUNS_TESTS, text) and not re.search(_CHOOSES_TESTS, text)
        is_used = runs or isinstance(at, ast.ClassDef) or len(re.findall(rf"\b{name}\b", text)) > 1
        return not is_used or re.search("skip|fail", "".join(map(ast.unparse, at.decorator_list))) is not None  # type: ignore
    if isinstance(at, ast.Try):
        fails = all(any(is_stop(x) or isinstance(x, ast.Raise) for x in ast.walk(handler)) for handler in at.handlers)
        return not fails and any(stops(x) or leaves(x) for x in [*at.body, *at.orelse])
    if isinstance(at, ast.If) and "__name__" not in ast.unparse(at.test):
        tries = [x for x in ast.walk(top(at)) if isinstance(getattr(x, "up", None), ast.Try)]
        modules = [re.escape(y.asname or y.name) for x in tries if isinstance(x, _IMPORTS) for y in x.names]
        is_one_of = at.orelse or any(map(leaves, at.body))  # outside of a loop, a run takes only one of the branches
        asks = re.search("|".join([_MACHINE, *(rf"\b{name}\b" for name in modules)]), ast.unparse(at.test))
        return asks is not None or bool(is_one_of) and not _in_loop(at)
    return isinstance(at, (ast.ExceptHandler, _CASE)) or isinstance(at, LOOPS) and down in at.orelse


def listed(node: ast.expr) -> list[ast.expr]:
    """The values that a script lists and that must all be compared with results of the project where this expression stands:
    the elements of a loop or `zip`, or the values among which a result selects one."""
    project, found = project_names(top(node)), []
    if isinstance(node, ast.Name):
        for loop, target, rows in [*_loops(node)][:1]:
            around = [*ancestors(node)]
            tests = [up.test for up in around[: around.index(loop)] if isinstance(up, (ast.If, ast.IfExp))]
            ends = any(isinstance(x, (ast.Break, ast.Return)) for x in ast.walk(loop))
            asks = isinstance(loop, ast.GeneratorExp) and tail(loop.up) in ("any", "next")  # type: ignore[attr-defined]
            if not ends and not asks and all(any(project_uses(at, project, set())) for at in tests):
                rows = rows if tail(rows) in ("zip", "enumerate") else ast.List(_held(rows, True), ast.Load())
                found = [x for name, at in bound(target, rows, True) if name == node.id for x in _held(at.value, True)]  # type: ignore
    elif isinstance(node, ast.Subscript):
        names = [x for x in ast.walk(node.slice) if isinstance(x, ast.Name)]
        givers = [*names, *(rows for x in names for _, _, rows in _loops(x))]
        found = _held(node.value) if any(any(project_uses(at, project, set())) for at in givers) else []
    elif isinstance(node, ast.Call) and tail(node) in ("get", "pop", "next") and _in_loop(node):
        found = _held(node.func.value if isinstance(node.func, ast.Attribute) else node.args[0])
    return found if not any(isinstance(at, ast.Starred) for at in found) else []


def _loops(node: ast.Name) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """The loops around a name that bind it, innermost first, with their targets and the values that they iterate over."""
    for up in ancestors(node):
        for at in [up] if isinstance(up, (ast.For, ast.AsyncFor)) else getattr(up, "generators", []):
            if any(getattr(x, "id", "") == node.id for x in ast.walk(at.target)):
                yield up, at.target, at.iter


def _held(node: ast.expr, is_run_through: bool = False) -> list[ast.expr]:
    """The elements that a script lists, or the values of a dictionary; none if the script gives them to other code."""
    calls = [x for x in ast.walk(top(node)) if isinstance(x, ast.Call) and tail(x) not in _SAME]
    if isinstance(node, ast.Name) and any(getattr(y, "id", "") == node.id for x in calls for y in x.args):
        return []
    node, name = origin(node), tail(origin(node))
    if isinstance(node, ast.Call) and name in _SAME and node.args:
        return _held(node.args[0], is_run_through)
    asks = isinstance(node, ast.Call) and name in ("items", "values")
    rows = origin(node.func.value) if asks and isinstance(node.func, ast.Attribute) else node  # type: ignore[attr-defined]
    if isinstance(rows, ast.Dict) and None not in rows.keys:
        pairs: list[ast.expr] = [ast.Tuple([*at], ast.Load()) for at in zip(rows.keys, rows.values)]  # type: ignore
        return pairs if asks and name == "items" else rows.keys if is_run_through and rows is node else rows.values  # type: ignore
    return node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []


def is_forgotten(tree: ast.AST, function: str, number: int, name: str) -> bool:
    """Whether the script gives an argument to calls of a function, and never looks at the argument after these calls."""
    calls = [x for x in ast.walk(tree) if isinstance(x, ast.Call) and tail(x) == function]
    told = [x.msg for x in ast.walk(tree) if isinstance(x, ast.Assert) and x.msg]
    inside = {id(y) for x in [*calls, *told] for y in ast.walk(x)}
    named = [x for x in ast.walk(tree) if isinstance(x, ast.Name) and id(x) not in inside]
    given = [at for x in calls for at in [*x.args[number:][:1], *(k.value for k in x.keywords if k.arg == name)]]
    seen = [at for at in given if any(x.id == getattr(at, "id", "") and x.lineno > at.lineno for x in named)]
    return bool(given) and not seen and all(isinstance(at, (ast.Name, ast.List, ast.Dict, ast.Set)) for at in given)
