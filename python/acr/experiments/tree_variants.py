"""Makes changed copies of the project's files: the patch without its behaviour, and another form with the same
behaviour.
"""

from __future__ import annotations

import ast
import random
import re

from acr.experiments.decoy import FUNCTIONS, decoy, is_text
from acr.experiments.site import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Files = dict[str, bytes | None]  # None: the file does not exist on that side

TESTS = re.compile(r"(?:^|/)tests?/|^testing/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
# Code that only shows how the project is used, such as examples.
SHOWS = re.compile(r"^(?:docs?|examples?|changelog|changes|\.github)/.*\.py$")
_LOOKS = {"locals", "vars", "eval", "exec", "dir"}
# Special methods that decide the result of a comparison or a truth test.
COMPARING = {
    f"__{name}__"
    for name in "eq ne lt le gt ge bool len contains iter getattr getattribute class instancecheck subclasscheck "
    "index getitem add radd sub rsub mod mul truediv floordiv and or xor rmul ror rand rxor rmod rfloordiv int float str repr format round abs "
    "floor ceil next hash missing call reversed bytes complex pow neg pos invert".split()
}


def without_behaviour(base: Files, patched: Files, nonce: str, keeps: bool) -> Files:
    """The patched files without the patch's behaviour; if the patch changes data files only, their contents in the
    base."""
    code = [path for path, text in patched.items() if path.endswith(".py") and text is not None]
    out = dict(patched)
    for path in code:
        out[path] = decoy(base.get(path), patched[path] or b"", nonce, keeps).encode("utf-8", "surrogatepass")
    for path, text in patched.items():
        if text is None or not code:
            out[path] = base.get(path) if base.get(path) is not None else b""
    return out


# Wraps a function of the base: empties its result, or fills it with other values; returns None if the function fails.
_EMPTY = """def {word}(fn):
    import functools, inspect
    def empty(x):
        if {fills} and type(x) in (list, tuple): return type(x)([7, 3, 7])
        if type(x) in (str, bytes, list, dict, set, tuple, frozenset, int, float, complex, bool): return type(x)()
        return iter(()) if hasattr(x, '__next__') else None
    async def wait(*a, **k):
        try: return empty(await fn(*a, **k))
        except Exception: return None
    def call(*a, **k):
        try: return empty(fn(*a, **k))
        except Exception: return None
    return functools.wraps(fn)(wait if inspect.iscoroutinefunction(fn) else call)
"""


# Wraps a function of the patch: its results keep their form, but contain other data; reports this when the process ends.
_SHIFTED = """def {word}(fn, told=[]):
    import atexit, copy, functools, inspect, os
    def data(x, depth=0):
        kind, down = type(x), lambda y: data(y, depth + 1)
        if depth > 5 or x is None or kind is bool: return x
        new = x
        if kind in (int, float, complex): new = {number}
        elif kind is bytes: new = x[:1] + (bytes(c ^ 1 for c in x[1:-1]) or b'q') + x[1:][-1:] if x else x
        elif kind is str: new = x[:1] + (''.join(c if c.isspace() else chr(ord(c) ^ 1) for c in x[1:-1]) or 'q') + x[1:][-1:] if x else x
        elif kind in (list, tuple, set, frozenset): return kind(map(down, x))
        elif kind is dict: return {{key: down(value) for key, value in x.items()}}
        elif inspect.isgenerator(x): return map(down, x)
        elif kind.__name__ == 'ndarray' and x.dtype.kind in 'if' and x.size:
            new = {number}
            if not told and (new != x).all(): told.append(atexit.register(os.write, 2, {mark!r}))
            return new
        elif hasattr(x, '__dict__') and not callable(x) and not isinstance(x, BaseException):
            new = copy.copy(x)
            for key, value in vars(x).items(): new.__dict__[key] = down(value)
            return new
        if new == new != x and not told: told.append(atexit.register(os.write, 2, {mark!r}))
        return new
    async def wait(*a, **k): return data(await fn(*a, **k))
    def call(*a, **k): return data(fn(*a, **k))
    return functools.wraps(fn)(wait if inspect.iscoroutinefunction(fn) else call)
"""


def shifted(base: Files, patched: Files, word: str, mark: str, turns: bool) -> Files | None:
    """The patched files, in which the functions that the patch adds or changes return other data of the same form; None
    if the patch changes no function. The process writes `mark` to standard error if any data differs.

    turns: greater numbers become smaller ones.
    """
    out: Files = {}
    number = "7 - 3 * x" if turns else "x + 7 + (kind is not int and x)"
    for path, text in patched.items():
        if path.endswith(".py") and text is not None:
            tree = ast.parse(text)
            changed = _differing(tree, ast.parse(base.get(path) or b""), adds=True)
            changed = [at for at in changed if not _serves_only_special_methods(tree, at.name)]
            if changed:
                _decorate(tree, changed, word, _SHIFTED.format(word=word, mark=mark.encode(), number=number))
                out[path] = _write(tree)
    return {**patched, **out} if out else None


def _differing(tree: ast.Module, other: ast.Module, adds: bool) -> list[Any]:
    """The functions of a module, without special methods, that differ in the other module; adds: or are not in it."""
    there = {name: ast.dump(at) for name, at in _functions(other).items()}
    own = [(at, there.get(name)) for name, at in _functions(tree).items() if not at.name.startswith("__")]
    return [at for at, text in own if (adds if text is None else ast.dump(at) != text)]


def _serves_only_special_methods(tree: ast.Module, name: str) -> bool:
    """Whether only special methods of the module, such as __eq__, use a function that this module defines."""
    special = [x for x in ast.walk(tree) if isinstance(x, FUNCTIONS) and x.name.startswith("__")]
    inside = {id(y) for x in special for y in ast.walk(x)}
    uses = [id(x) in inside for x in ast.walk(tree) if name in (getattr(x, "attr", ""), getattr(x, "id", ""))]
    return any(uses) and all(uses)


def _decorate(tree: ast.Module, functions: list[Any], word: str, source: str) -> None:
    """Decorates functions of a module by a function of this name and source."""
    for at in functions:
        at.decorator_list.append(ast.Name(word, ast.Load()))
    _insert(tree, source)


def _insert(tree: ast.Module, source: str) -> None:
    first = [at for at in tree.body if is_text(at) or getattr(at, "module", "") == "__future__"]
    tree.body = [*first, *ast.parse(source).body, *(at for at in tree.body if at not in first)]


def _note(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, word: str) -> None:
    if any(getattr(x, "id", "") in _LOOKS for x in ast.walk(function)):
        return
    args = function.args
    names = [at.arg for at in [*args.posonlyargs, *args.args, *args.kwonlyargs] if at.arg not in ("self", "cls")]
    at, given = int(is_text(function.body[0])), ", ".join(f"{at!r}: {at}" for at in names)
    first, end = ast.parse(f"{word}_end = {word}({name!r}, {{{given}}})\n{word}_end()").body
    function.body[at:] = [first, ast.Try(function.body[at:], [], [], [end])]


def _turn(function: ast.AST, word: str, words: set[str]) -> None:
    """Makes a function iterate over sets in another order, and find in a mock only attributes with these names."""
    for x in ast.walk(function):
        if hasattr(x, "iter"):
            x.iter = _wrapped(f"{word}_turned", x.iter)
        elif isinstance(x, ast.Starred) and isinstance(x.ctx, ast.Load):
            x.value = _wrapped(f"{word}_turned", x.value)
        elif isinstance(x, ast.Call) and tail(x) in _ITERATES and x.args and not isinstance(x.args[0], ast.Starred):
            x.args[0] = _wrapped(f"{word}_turned", x.args[0])
        elif isinstance(x, ast.Call) and len(x.args) == {"hasattr": 2, "getattr": 3}.get(tail(x)):
            if getattr(x.args[1], "value", "") not in words:
                x.args[0] = _wrapped(f"{word}_bare", x.args[0])


def emptied(base: Files, patched: Files, word: str, fills: bool) -> Files | None:
    """The base with functions that return nothing in place of those that the patch changes; None if the patch changes none.

    fills: lists that they return hold other values instead.
    """
    out, found = {path: base.get(path) for path in patched}, False
    for path, text in patched.items():
        if not path.endswith(".py") or text is None or base.get(path) is None:
            continue
        old = ast.parse(base[path] or b"")
        changed = _differing(old, ast.parse(text), adds=False)
        if changed:
            found = True
            _decorate(old, changed, word, _EMPTY.format(word=word, fills=fills))
            out[path] = _write(old)
    return out if found else None


def _functions(tree: ast.Module) -> dict[tuple[str, str], ast.FunctionDef | ast.AsyncFunctionDef]:
    """(class or "", name) -> function, of a module and its classes."""
    scopes = [("", tree), *((at.name, at) for at in tree.body if isinstance(at, ast.ClassDef))]
    return {(name, at.name): at for name, scope in scopes for at in scope.body if isinstance(at, FUNCTIONS)}


# Notes the containers that the script gives to a function; when the function ends, reports those that it changed.
_NOTED = """def {word}(name, given):
    import os, sys
    if sys._getframe(2).f_globals.get('__name__') != '__main__': return lambda: None
    def text(x, depth=0):
        kind = type(x)
        if depth < 6 and kind in (list, tuple, set, frozenset, dict):
            return kind.__name__ + str([text(y, depth + 1) for y in (x.items() if kind is dict else x)])
        return str(x.tobytes()) if kind.__name__ == 'ndarray' else repr(x) if kind in (int, float, str, bytes, bool, bytearray) else id(x)
    was = [text(x) for x in given.values()]
    def end():
        for number, key in enumerate(given):
            if text(given[key]) != was[number]: os.write(2, ('{mark} ' + name + ' ' + str(number) + ' ' + key + '\\n').encode())
    return end
def {word}_turned(x):
    def turned(n):
        for y in [*x][::-1]:
            yield y
            if len(x) != n: raise RuntimeError('Set changed size during iteration')
    return turned(len(x)) if type(x) in (set, frozenset) else x
def {word}_bare(x): return None if hasattr(type(x), 'assert_called') and type(x).__module__ == 'unittest.mock' else x
"""
# Functions that iterate over their first argument, or join it.
_ITERATES = {"list", "tuple", "iter", "enumerate", "dict", "min", "max", "sorted", "join", "extend", "fromkeys"}


def rewritten(files: Files, other: Files, seed: str, mark: str, words: set[str]) -> Files:
    """The patched files with the same behaviour, but without comments, with other lines, with sets in another order, and
    with mocks that have only the attributes that `words` name.

    If a function that differs in the `other` files, and that the script calls, changes an argument, it writes to standard
    error `mark`, its name, and the number and name of the argument.
    """
    dice = random.Random(seed)
    word = f"_{dice.randrange(10**9)}"
    lines = "".join(f"# {'x' * dice.randrange(40, 99)}\n" for _ in range(dice.randrange(30, 90)))
    out = {}
    for path, text in files.items():
        if path.endswith(".py") and text is not None:
            tree, there = ast.parse(text), _functions(ast.parse(other.get(path) or b""))
            texts = {name: ast.dump(at) for name, at in there.items()}
            changed = {name: at for name, at in _functions(tree).items() if ast.dump(at) != texts.get(name)}
            for (kind, name), at in changed.items():
                _turn(at, word, words)
                _note(at, kind if name == "__init__" else name, word)
            _insert(tree, _NOTED.format(word=word, mark=mark))
            out[path] = lines.encode() + _write(tree)
    return out


def _wrapped(name: str, inner: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [inner], [])


def _write(tree: ast.Module) -> bytes:
    return (ast.unparse(ast.fix_missing_locations(tree)) + "\n").encode("utf-8", "surrogatepass")


def changed_classes(base: Files, patched: Files) -> set[str]:
    """The names of the classes of which a patch adds or changes a method that may decide a comparison, or the bases."""
    trees = [[ast.parse(side.get(p) or b"") for p in patched if p.endswith(".py")] for side in (base, patched)]
    was, now = ({x.name: x for at in side for x in ast.walk(at) if isinstance(x, ast.ClassDef)} for side in trees)
    bases = {name: [[ast.dump(x) for x in side[name].bases] for side in (was, now)] for name in {*was} & {*now}}
    changed = {name for name, at in now.items() if _comparing(at) != _comparing(was.get(name))}
    return changed | {name for name, (old, new) in bases.items() if old != new}


def _comparing(kind: ast.ClassDef | None) -> list[str]:
    """The parts of a class that decide how its objects compare; if the class has a decorator, all attributes may decide."""
    parts = [*kind.decorator_list, *kind.keywords] if kind else []
    for at in kind.body if kind else []:
        names = {x.id for x in ast.walk(at) if isinstance(x, ast.Name)} if isinstance(at, ast.Assign) else set()
        if {getattr(at, "name", ""), *names} & COMPARING or parts and isinstance(at, ast.AnnAssign):
            parts.append(at)
    return [ast.dump(at) for at in parts]


def changed_functions(base: Files, patched: Files) -> set[str]:
    """The names of functions and methods that a patch adds or changes."""
    names: set[str] = set()
    for path, text in patched.items():
        if path.endswith(".py") and text is not None:
            old = {ast.dump(x) for x in ast.walk(ast.parse(base.get(path) or b"")) if isinstance(x, FUNCTIONS)}
            new = [x for x in ast.walk(ast.parse(text)) if isinstance(x, FUNCTIONS)]
            names |= {x.name for x in new if ast.dump(x) not in old}
    return names


def ignored(calls: list[ast.Call], base: Files, patched: Files) -> str:
    """The first argument of these calls that a function of the patch, changed by it, never reads, or "". If other classes
    have a function of this name that reads it, the patch must have dropped the reading."""
    ways: dict[str, list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]] = {}
    before: dict[tuple[str, str], ast.FunctionDef | ast.AsyncFunctionDef] = {}
    changed = changed_functions(base, patched)
    for path, text in patched.items():
        if path.endswith(".py") and text is not None:
            before.update(_functions(ast.parse(base.get(path) or b"")))
            for (kind, name), at in _functions(ast.parse(text)).items():
                ways.setdefault(kind if name == "__init__" else name, []).append((kind, at))
    for call in calls:
        found = [_unread(call, kind, at) for kind, at in ways.get(tail(call), [])]
        own = [(kind, at) for kind, at in ways.get(tail(call), []) if at.name in changed]
        was = [before.get((kind, at.name)) for kind, at in own]
        dropped = [_unread(call, *at) for at, old in zip(own, was) if old and not _unread(call, at[0], old)]
        unread = next(filter(None, found if own and all(found) else dropped), "")
        if unread:
            return f"`{unread}` of `{tail(call)}`"
    return ""


def _unread(call: ast.Call, kind: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The first parameter to which a call gives a value other than None and that the function never reads, or ""."""
    args, decorators = function.args, {ast.unparse(at) for at in function.decorator_list}
    body = [at for at in function.body if not is_text(at) and not isinstance(at, (ast.Pass, ast.Raise))]
    read = {x.id for at in body for x in ast.walk(at) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
    if not body or decorators - {"staticmethod", "classmethod"} or read & {*_LOOKS, "super"}:
        return ""
    names = [at.arg for at in [*args.posonlyargs, *args.args]]
    owner = getattr(call.func, "value", call)
    by_class = (
        not isinstance(owner, ast.Call)
        and tail(owner) == kind
        and not (function.name == "__init__" or "classmethod" in decorators)
    )
    positional = names[1:] if kind and "staticmethod" not in decorators and not by_class else names
    starred = [isinstance(at, ast.Starred) for at in call.args] + [True]
    given = [*zip(positional, call.args[: starred.index(True)]), *((at.arg or "", at.value) for at in call.keywords)]
    known = {*names, *(at.arg for at in args.kwonlyargs)} - read
    values = [name for name, at in given if getattr(at, "value", at) is not None]
    return next((name for name in values if name in known and name[0] != "_"), "")
