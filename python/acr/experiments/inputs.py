"""Replaces the values that a script gives to the project, but does not expect: its result should depend on them."""

from __future__ import annotations

import ast
import re
import string

from acr.experiments.comparisons import EXCLUDES, names_project, others, pairs, project_names, project_uses, value_parts
from acr.experiments.decoy import is_text
from acr.experiments.expectations import selecting
from acr.experiments.site import Site, tail, waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from acr.experiments.comparisons import Pair
    from acr.experiments.script_variants import Script

    How = tuple[Callable[[float], float], Callable[[str], str]]  # how to change a number, and a text

_NEXT = str.maketrans(string.ascii_letters + string.digits, string.ascii_letters[1:] + "a" + string.digits[3:] + "012")
# Functions of tests whose constants state what the script expects, or which it only lists; and functions that wait.
_STATES = re.compile("assert|raises|warns|simplefilter|range$|hasattr$|print$|sleep$|wait$|wait_for$|join$")

_BOUNDS = re.compile("tol$|delta$|places$")  # arguments that say how near two numbers must be


def _nearby(by: int) -> How:
    """Numbers grow by so much, also in a text; a text without numbers ends with another letter."""

    def text(value: str) -> str:
        moved = re.sub(r"\d+", lambda at: f"{int(at[0]) + by:0{len(at[0])}}", value)
        return moved if moved != value else value[:-1] + value[-1:].translate(_NEXT)

    return lambda value: value + by, text


_FAR: How = (lambda value: -value - 3, lambda value: f"{value}q{value}")
_ALIKE: How = (lambda value: value + 17, lambda value: value.translate(_NEXT) if value.isascii() else _FAR[1](value))


def replaced(script: Script, mark: str) -> list[str]:
    """The script with other inputs, five times: with other letters and greater numbers, the same for every second input,
    with longer texts, shorter lists and negative numbers, and twice with values nearby, as a date must be. Each writes
    `mark` to standard error when it reaches the site. Empty if the script has no input."""
    texts = []
    for step, how in (1, _ALIKE), (2, _ALIKE), (1, _FAR), (1, _nearby(1)), (1, _nearby(5)):
        site = script.site()
        if site is None or not (found := _inputs(site)):
            return []
        for at in found[::step]:
            at.value = _other(at.value, *how)
        for at in ast.walk(site.tree) if how is _FAR else ():
            if isinstance(at, ast.List) and len(at.elts) > 1 and all(x in found for x in at.elts):
                at.elts.pop()
        site.swap(site.holder, *ast.parse(f"__import__('os').write(2, {mark.encode()!r})").body, site.holder)
        texts.append(site.text())
    return texts


def without(text: str, line: int) -> str:
    """The script without the assertion on this line, if the assertion only looks at objects that the script makes."""
    site = Site(text, line)
    calls = [x for _, part in value_parts(site.at) for x in ast.walk(part) if isinstance(x, ast.Call)]
    if isinstance(site.at, ast.Assert) and all(tail(x)[:1].isupper() for x in calls):
        site.at.test = ast.Constant(True)
    return site.text()


def _inputs(site: Site) -> list[ast.Constant]:
    """The constants that the script neither expects nor only shows, and that do not select what it reads."""
    own, project = pairs(site), project_names(site.tree)
    stated = [pair for pair in [*own, *others(site, own)] if pair.how != "truth"]
    sides = [pair.expected.get() for pair in stated if not names_project(pair.expected.get(), project)]
    makes = any(any(project_uses(at, project, set())) for at in sides)  # expected objects of some inputs
    apart = [part for pair in stated for part in _stated(pair, project)]
    wanted = {repr(x.value) for part in apart for x in ast.walk(part) if isinstance(x, ast.Constant)}
    for at in ast.walk(site.tree):
        apart += selecting(at)
        if isinstance(at, ast.ExceptHandler):  # the script itself sets the expected value if an error occurs
            apart += [x for x in ast.walk(at) if isinstance(x, ast.Constant) and repr(x.value) in wanted]
        formats = isinstance(getattr(at, "op", 0), ast.Mod) and isinstance(getattr(at.left, "value", 0), str)  # type: ignore
        is_name = isinstance(at, ast.Compare) and "__name__" in ast.unparse(at)
        is_bound = isinstance(at, ast.keyword) and _BOUNDS.search(at.arg or "")
        if is_bound or isinstance(at, ast.Raise) or is_text(at) or waits(at) or formats or is_name:
            apart.append(at)
        elif isinstance(at, ast.Assert) and at.msg:
            apart.append(at.msg)
        elif isinstance(at, ast.Call) and _STATES.match(tail(at)):
            given = [*at.args, *(x.value for x in at.keywords)]
            results = [x for x in given if "call" not in tail(at) and any(project_uses(x, project, set()))][:1]
            states = tail(at).startswith("assert_")
            apart += [x for x in given if states and x not in results or isinstance(x, ast.Constant)]
    kept = {id(x) for part in apart for x in ast.walk(part)}
    found = [x for x in ast.walk(site.tree) if isinstance(x, ast.Constant) and id(x) not in kept]
    found = [x for x in found if isinstance(x.value, (bool, int, float, str, bytes))]
    return found if len(found) > makes else []


def _stated(pair: Pair, project: set[str]) -> list[ast.AST]:
    """The parts of the expected value. Not those of a value that another one must not be, of a relation, or of data that
    passes through two functions of the project and returns."""
    if pair.is_relation or (pair.how, pair.holds) in EXCLUDES:
        return []
    expected, observed = pair.expected.get(), (pair.left if pair.is_right else pair.right).get()
    parts = [*value_parts(observed)]
    calls = [x.func for _, part in parts for x in ast.walk(part) if isinstance(x, ast.Call)]
    passed = {ast.dump(at) for at in calls if any(getattr(x, "id", "") in project for x in ast.walk(at))}
    names = {x.id for x in ast.walk(expected) if isinstance(x, ast.Name)}
    is_data = not any(project_uses(expected, project, set()))
    returns = len(passed) > 1 and is_data and names <= {name for name, _ in parts}
    return [expected] if returns else [part for _, part in value_parts(expected)]


def _other(value: bool | float | str | bytes, number: Callable[[float], float], text: Callable[[str], str]) -> object:
    """Another value of this type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, bytes):
        return text(value.decode("latin1")).encode("latin1")
    return text(value)
