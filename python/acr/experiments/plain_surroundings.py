"""Finds where code asks for its surroundings: with the answer, a patch may act only where acr-host runs the script. The
lists name what may be used of the modules that know the surroundings; their other names are questions.
"""

from __future__ import annotations

import ast

from acr.experiments import plain_names as names
from acr.experiments.decoy import FUNCTIONS
from acr.experiments.site import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.experiments.plain import Finding, Unit


def of_name(unit: Unit, x: ast.Name | ast.Attribute) -> Iterator[Finding]:
    name = unit.whole(x)
    module, _, last = name.rpartition(".")
    asks = module in names.OWN and last not in names.OWN[module] or name in names.MOMENTS | names.ASKING
    if isinstance(x, ast.Attribute) and not asks:
        of_log = unit.whole(unit.caller(x.value)) == "logging.getLogger"
        asks = x.attr in names.ASKING or of_log and x.attr not in names.LOGS
    asks = asks and (unit.kind == "function" or name not in names.MACHINE)  # modules may adapt to the machine
    asks = asks or name in names.DOUBLES and id(x) not in unit.called and id(x) in tested(unit)
    if asks and (not {name, module} & names.MOMENTS or id(x) in tested(unit)):
        yield "surroundings", ast.unparse(x)[-60:]


def of_call(unit: Unit, x: ast.Call) -> Iterator[Finding]:
    """The finding about a call that looks at a file whose name no argument of the function decides."""
    given = {y.arg for y in unit.nodes if isinstance(y, ast.arg)}
    looks = tail(x) in names.LOOKS or tail(x) in names.RESOLVES and id(x) in tested(unit)
    if looks and given.isdisjoint(getattr(y, "id", "") for y in unit.parts(x)):
        yield "surroundings", ast.unparse(x)[:60]


def tested(unit: Unit) -> set[int]:
    """The nodes from which a function computes the result of a test."""
    if unit.tested is None:
        near = [getattr(x, at) for x in unit.nodes for at in ("test", "subject") if hasattr(x, at)]
        near += [at for x in unit.nodes for at in getattr(x, "ifs", [])]
        near += [x for x in unit.nodes if isinstance(x, (ast.BoolOp, ast.Compare, ast.UnaryOp))]
        unit.tested = set()
        while near:
            for x in unit.parts(near.pop()):
                if id(x) not in unit.tested:
                    unit.tested.add(id(x))
                    near += unit.known.given.get(getattr(x, "attr", getattr(x, "id", "")), [])
    return unit.tested


def given(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Name -> the values that a file gives to an attribute, or that a function of this name returns."""
    found: dict[str, list[ast.expr]] = {}
    for x in ast.walk(tree):
        gives = (
            [y.value for y in ast.walk(x) if isinstance(y, ast.Return) and y.value] if isinstance(x, FUNCTIONS) else []
        )
        found.setdefault(getattr(x, "name", ""), []).extend(gives)
        for at in getattr(x, "targets", [getattr(x, "target", None)]):
            if isinstance(at, ast.Attribute) and getattr(x, "value", None):
                found.setdefault(at.attr, []).append(x.value)  # type: ignore[attr-defined]
    return found
