"""Decides which modules plain code may import, and which names of a module it may use."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import sys
from types import ModuleType

from acr.experiments import plain_names as names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def bound(tree: ast.AST) -> set[str]:
    """The names that a tree binds in any of its scopes, imports excepted."""
    found: set[str] = set()
    for x in ast.walk(tree):
        if not isinstance(x, (ast.alias, ast.keyword)) and not isinstance(getattr(x, "ctx", None), ast.Load):
            values = (getattr(x, at, None) for at in ("id", "arg", "name", "rest"))
            found.update(at for at in values if isinstance(at, str))
    return found


# Calls that return one of their arguments, or a container of their arguments.
_HANDS_ON = {"next", "iter", "list", "tuple", "set", "sorted", "reversed", "min", "max", "zip", "enumerate", "filter", "getattr", "dict",
    "get", "pop", "values", "items", "copy"}  # fmt: skip


def sources(at: ast.AST | None, values: dict[str, list[ast.expr]], depth: int = 0) -> Iterator[str]:
    """The names whose value an expression may return unchanged."""
    if depth > 12:
        return
    if isinstance(at, ast.Name):
        yield at.id
        inner: list = values.get(at.id, [])
    elif isinstance(at, ast.Call):
        name = getattr(at.func, "attr", getattr(at.func, "id", ""))
        inner = [*at.args, getattr(at.func, "value", None)] if name in _HANDS_ON else []
    elif isinstance(at, (ast.Attribute, ast.Subscript, ast.Starred, ast.NamedExpr)):
        inner = [at.value]
    else:
        whole = (ast.IfExp, ast.BoolOp, ast.List, ast.Tuple, ast.Set, ast.Dict)
        inner = [*ast.iter_child_nodes(at)] if isinstance(at, whole) else []
    for x in inner:
        yield from sources(x, values, depth + 1)


def origins(tree: ast.AST) -> dict[str, str]:
    """Name -> the dotted name of what a tree imports by it from a module; the project's relative names begin with a dot."""
    found = [x for x in ast.walk(tree) if isinstance(x, ast.ImportFrom)]
    return {a.asname or a.name: f"{'.' * x.level}{x.module}.{a.name}" for x in found for a in x.names}


def values_of(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """The expressions from which each name gets its values."""
    found: dict[str, list[ast.expr]] = {}
    for x in nodes:
        if isinstance(x, ast.arguments):
            named = [*x.posonlyargs, *x.args][::-1], x.defaults[::-1]
            for at, default in [*zip(*named), *zip(x.kwonlyargs, x.kw_defaults)]:
                found.setdefault(at.arg, []).extend([default] if default else [])
        value = getattr(x, "value", None) or getattr(x, "iter", None) or getattr(x, "context_expr", None)
        targets = getattr(x, "targets", None) or [getattr(x, "target", None), getattr(x, "optional_vars", None)]
        if value and not isinstance(x, ast.expr) or isinstance(x, ast.NamedExpr):
            stored = (y for at in targets if at for y in ast.walk(at) if isinstance(getattr(y, "ctx", None), ast.Store))
            for name in (y.id for y in stored if isinstance(y, ast.Name)):
                found.setdefault(name, []).append(value)
    return found


def modules_of(tree: ast.AST) -> dict[str, str]:
    """Local name -> module, for `import` statements, and for modules of the library that another module imported."""
    found = {}
    for x in ast.walk(tree):
        if isinstance(x, ast.Import):
            tops = {a: a.name.split(".")[0] for a in x.names}
            found.update((a.asname or top, a.name if a.asname else top) for a, top in tops.items())
        elif isinstance(x, ast.ImportFrom):
            for a in x.names:
                inner = f"{x.module}.{a.name}"
                if not x.level and is_library_module(inner):
                    found[a.asname or a.name] = inner
                elif a.name in names.FOREIGN:
                    found[a.asname or a.name] = a.name
    return found


@functools.lru_cache(None)
def is_library_module(name: str) -> bool:
    """Whether a dotted name is a module inside a package of the standard library."""
    try:
        return name.split(".")[0] in names.LIBRARY and importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


@functools.lru_cache(None)
def _contents(module: str) -> dict[str, object]:
    """The contents of a module of the standard library; empty for modules that plain code may not import."""
    if module.split(".")[0] not in names.MODULES & names.LIBRARY or names.INNER.search(module):
        return {}
    try:
        return vars(importlib.import_module(module))
    except Exception:  # the module exists only on other machines or in other versions of Python
        return {}


def may_use(module: str, name: str) -> bool:
    """Whether plain code may use this name of a module: it must be public, and not imported from another module."""
    if module in names.NARROW:
        return name in names.NARROW[module]
    if name.startswith("_") or f"{module}.{name}" in names.REFUSED:
        return name in names.ATTRIBUTES
    held = _contents(module)
    if name not in held:  # a name of another package, or of another version of Python
        return name not in names.FOREIGN
    value = held[name]
    if isinstance(value, ModuleType):
        return sys.modules.get(f"{module}.{name}") is value and not names.INNER.search(f"{module}.{name}")
    owner = str(getattr(value, "__module__", None) or module)
    listed = name in held.get("__all__", ())  # type: ignore[operator]
    return listed or not callable(value) or owner.split(".")[0].strip("_") == module.split(".")[0]
