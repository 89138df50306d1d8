"""The decoy of a patch: what the patch says, with the behaviour of the base.

Changed functions keep their old bodies, decorators and default values; new functions raise, new variables are None; old
statements of a module or class stay. Names, signatures, annotations, docstrings and imports are the patch's. Tests that
pass with a decoy do not test what the patch does. The code is parsed here, never run.
"""

from __future__ import annotations

import ast
import copy
import difflib
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
_SHAPING = ("property", "staticmethod", "classmethod")  # decorators that decide how callers reach a new function
_ACCESSORS = ("setter", "deleter", "overload")


class _Way(NamedTuple):
    word: str  # text that new functions raise
    keeps: bool  # new variables keep their values


def decoy(before: str | bytes | None, after: str | bytes, word: str, keeps: bool = False) -> str:
    """The decoy of one Python file; `before` is None for a new file. Its new functions raise an error with the message `word`.

    keeps: new variables keep the patch's values. Comments and layout are lost. Raises SyntaxError, ValueError or
    RecursionError for a text that cannot be parsed.
    """
    old, new = ast.parse(before or ""), ast.parse(after)
    new.body = list(_hollow(old.body, new.body, _Way(word, keeps)))
    return ast.unparse(ast.fix_missing_locations(new)) + "\n"


def name_of(node: ast.stmt) -> str:
    """Identifies a statement in both versions: its kind and name, or its text if it has no name."""
    if isinstance(node, FUNCTIONS):
        accessors = [at.attr for at in node.decorator_list if isinstance(at, ast.Attribute) and at.attr in _ACCESSORS]
        return ".".join([f"def {node.name}", *sorted(accessors)])
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    if isinstance(node, _ASSIGNMENTS):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return "= " + " ".join(map(ast.unparse, targets))
    return "docstring" if is_text(node) else ast.unparse(node)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is only a string, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _hollow(old: list[ast.stmt], new: list[ast.stmt], way: _Way) -> Iterator[ast.stmt]:
    """The statements of a module or class."""
    before, after = [name_of(at) for at in old], [name_of(at) for at in new]
    twins = dict(zip(before, old))
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            for one, other in zip(old[i1:i2], new[j1:j2]):
                yield _merged(one, other, way)
            continue
        yield from (at for name, at in zip(before[i1:i2], old[i1:i2]) if name not in after)
        for name, at in zip(after[j1:j2], new[j1:j2]):
            if name in twins:
                yield _merged(twins[name], at, way)
            else:
                yield from _emptied(at, way)


def _merged(old: ast.stmt, new: ast.stmt, way: _Way) -> ast.stmt:
    """Merges a statement that both versions have."""
    made = copy.copy(new)
    if isinstance(made, FUNCTIONS) and isinstance(old, FUNCTIONS) and type(made) is type(old):
        made.args = _arguments(old.args, made.args)
        attributes = sorted(_attributes(made) - _attributes(old)) if made.name == "__init__" else []
        named = [ast.parse(f"self.{name} = None").body[0] for name in attributes]
        made.body, made.decorator_list = [*_docstring(made), *_body(old), *named] or [ast.Pass()], old.decorator_list
    elif isinstance(made, ast.ClassDef) and isinstance(old, ast.ClassDef):
        made.bases, made.keywords, made.decorator_list = old.bases, old.keywords, old.decorator_list
        made.body = list(_hollow(old.body, new.body, way)) or [ast.Pass()]
    elif not is_text(made):
        return old
    return made


def _attributes(function: ast.AST) -> set[str]:
    """The attributes that a method gives to `self`."""
    stored = [x for x in ast.walk(function) if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)]
    return {x.attr for x in stored if isinstance(x.value, ast.Name) and x.value.id == "self"}


def _arguments(old: ast.arguments, new: ast.arguments) -> ast.arguments:
    """The new arguments, with the old default values of arguments that both versions have."""
    known, made = dict(_defaults(old)), copy.copy(new)
    named = [at.arg for at in [*new.posonlyargs, *new.args]][-len(new.defaults) or len(new.args) :]
    made.defaults = [known.get(name) or value for name, value in zip(named, new.defaults)]
    made.kw_defaults = [value and (known.get(at.arg) or value) for at, value in zip(new.kwonlyargs, new.kw_defaults)]
    return made


def _defaults(args: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    positional = [*args.posonlyargs, *args.args]
    yield from ((at.arg, value) for at, value in zip(reversed(positional), reversed(args.defaults)))
    yield from ((at.arg, value) for at, value in zip(args.kwonlyargs, args.kw_defaults))


def _emptied(node: ast.stmt, way: _Way) -> Iterator[ast.stmt]:
    """Replaces what the patch adds: functions raise, variables are None, and statements with effects are dropped."""
    made = copy.copy(node)
    if isinstance(made, FUNCTIONS):
        fails = ast.parse(f"raise NotImplementedError({way.word!r})").body
        made.body = [*_docstring(made), *fails]
        made.decorator_list = [at for at in made.decorator_list if ast.unparse(at) in _SHAPING]
    elif isinstance(made, ast.ClassDef):
        made.body = list(_hollow([], made.body, way)) or [ast.Pass()]
    elif isinstance(made, _ASSIGNMENTS):
        name = name_of(made)
        if name == "= __slots__" or not _binds_names(made):
            return
        if made.value is not None and name != "= __all__" and not way.keeps:
            made.value = ast.Constant(None)
    elif not isinstance(made, (ast.Import, ast.ImportFrom)) and not is_text(made):
        return
    yield made


def _binds_names(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether an assignment only binds names, and changes no object."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return not any(isinstance(at, (ast.Attribute, ast.Subscript)) for target in targets for at in ast.walk(target))


def _docstring(node: ast.stmt) -> list[ast.stmt]:
    return node.body[:1] if is_text(node.body[0]) else []


def _body(node: ast.stmt) -> list[ast.stmt]:
    return node.body[len(_docstring(node)) :]
