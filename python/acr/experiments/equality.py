"""Repeats, without the patch, the comparisons by which a script relies on the equality of the project's objects.

The written-out run prints each call of `__eq__`, `__ne__` or `__hash__` of a project's object if the nearest caller
outside Python's library is the script; `p in found` and `listener.assert_called_with(p)` make such calls. The base then
compares objects built from the printed values, so it does not matter what a method reads, or which code calls the method.
"""

from __future__ import annotations

import ast
import itertools
import re

from acr.experiments.comparisons import names_project, project_names, value_parts
from acr.experiments.site import ancestors, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_CALLS = 20_000  # calls that a run prints; if a script makes more calls, its comparisons are not repeated
MAX_KEYS = 30  # maximum number of hashed objects; each is compared with every other
MAX_PAIRS = 2_000

# Makes classes write the comparisons on which the script relies: tag "E" (the method, both objects, its result, and whether
# their printed forms compare alike) and tag "H" (an object, its hash, and whether the script made it). Two kinds of
# comparisons are omitted: objects that print alike are equal; and the script makes both objects only in order to compare them
# ({watch}_made), because such a comparison tests the equality itself. If a class inherits its equality from Python's own
# classes, which read only their data, it writes comparisons within one class. {watch} covers the classes above one, or all.
WATCH = """def {watch}(kind=None, state={{'made': {{}}, 'seen': set(), 'keys': set(), 'calls': 0, 'asks': [], 'size': 0, 'busy': False}}):
    import os, sys
    folders = (os.path.dirname(os.__file__) + os.sep, '<frozen', *{watch}_path)
    def is_own(c):
        path = getattr(sys.modules.get(c.__module__), '__file__', None)
        return bool(path) and not path.startswith(folders)
    def write(tag, row):
        out = ascii(row)
        if out not in state['seen'] and len(out) < 200000: os.write({name}_to, ('\\n{mark}' + tag + ' ' + out + '\\n').encode())
        state['seen'].add(out)
        state['calls'] += len(out) // 200
    def note(how, method, sides, rows, got):
        if how == '__hash__':
            state['keys'].add(ascii(rows))
            return write('H', [rows[0], got, id(sides[0]) in state['made']])
        akin = type(sides[0]) is type(sides[1])
        if akin if how not in ('__eq__', '__ne__') else type(method) is type(object.__eq__) and not akin: return
        if got is NotImplemented:
            if how not in ('__eq__', '__ne__'): return
            asks, state['asks'] = state['asks'], [*map(id, sides)]
            if hasattr(getattr(type(sides[1]), how), '{watch}') and asks != state['asks'][::-1]: return
            got = how == '__ne__'
        said = bool(got) if type(got) in (bool, int, str, float, list, tuple, dict, type(None)) else True
        equal, alike = said == (how in ('__eq__', '__le__', '__ge__')), rows[0] == rows[1]
        if not (equal and alike) and (equal or alike or how not in ('__eq__', '__ne__')): write('E', [how, *rows, said, equal == alike])
    def watched(how, method):
        def call(*sides):
            run = method.__get__(sides[0], type(sides[0])) if hasattr(type(method), '__get__') else method
            at = sys._getframe(1)
            while at and (at.f_code is call.__code__ or at.f_code.co_filename.startswith(folders)): at = at.f_back
            if not at or '{name}' not in at.f_globals or state['busy'] or state['calls'] > {calls}: return run(*sides[1:])
            if len(state['keys']) >= {keys} if how == '__hash__' else all(id(x) in state['made'] for x in sides): return run(*sides[1:])
            state['calls'] += 1
            if state['calls'] > {calls}: write('E', 'too many')
            state['busy'] = True
            left = [30000]
            try: rows = [{name}(x, '', 0, (), left) for x in sides]
            finally: state['busy'] = False
            state['calls'] += (30000 - left[0]) // 100
            got = run(*sides[1:])
            note(how, method, sides, rows, got)
            return got
        call.__dict__.update(getattr(method, '__dict__', {{}}), {watch}=method)
        call.__name__, call.__qualname__, call.__doc__ = how, getattr(method, '__qualname__', how), getattr(method, '__doc__', None)
        return call
    if id(kind) in state['seen']: return
    found = [object] if kind is None else [*kind.__mro__[:-1], state['seen'].add(id(kind))][:-1]
    if kind is None:
        if state['size'] == len(sys.modules): return
        state['size'] = len(sys.modules)
        for c in found: found += type.__subclasses__(c)
    for c in dict.fromkeys(found):
        for how in ('__eq__', '__ne__', '__lt__', '__le__', '__gt__', '__ge__', '__hash__'):
            method = next((b.__dict__[how] for b in c.__mro__ if how in b.__dict__), None)
            if method is None or method is getattr(object, how) or hasattr(method, '{watch}'): continue
            path = getattr(getattr(method, '__code__', None), 'co_filename', '')
            is_given = how in c.__dict__ or how != '__hash__' and (not path or path.startswith(folders))
            if is_given and is_own(c) or how in c.__dict__ and path and not path.startswith(folders):
                try: type.__setattr__(c, how, watched(how, method))
                except TypeError: pass
def {watch}_made(x):
    {watch}.__defaults__[1]['made'][id(x)] = x
    return x
{watch}_path = [at + __import__('os').sep for at in __import__('sys').path if at.endswith('-packages')]
"""
# Builds objects from their printed form, without running code of their classes, and compares them. If a comparison has
# another result, ends the script with the word `told`; otherwise writes this word backwards. A value that cannot be built
# becomes an object that equals only itself. Parts that print alike become one object, except the two compared objects.
REPEAT = """def {repeat}(told, rows, pairs):
    import ast, builtins, enum, importlib, operator, os, re
    def thing(build, kind, bases, rows=''):
        if bases[0] in ('builtins:function', 'builtins:builtin_function_or_method'): kind, bases = 'class', [rows]
        module, _, name = bases[0].partition(':')
        own = operator.attrgetter(name)(importlib.import_module(module))
        if kind == 'class': return own
        if name == 'Pattern': return re.compile(*build(rows))
        values = {{k: build(v) for k, v in rows[1:]}} if type(rows) is list else {{}}
        data = [values.pop(k) for k in ('', '=') if k in values][:1]
        if issubclass(own, enum.Enum): return own(values['_value_'])
        if module in ('collections', 'datetime', 'decimal', 'fractions', 'ipaddress', 'pathlib', 'uuid') and not values:
            text = re.match(r'[\\w.]+\\((.*)\\)$', rows if type(rows) is str else '', re.S)
            return own(*[str(x.real) if type(x) is complex else x for x in data] or ast.literal_eval('(' + text[1] + ',)'))
        base = next((getattr(builtins, at[9:]) for at in bases if at.startswith('builtins:')), object)
        made = base.__new__(own, *data[:base is not object])
        if base in (list, dict, set): base.__init__(made, *data)
        for k, v in values.items():
            if type(getattr(own, k, 0)).__name__ == 'member_descriptor': object.__setattr__(made, k, v)
            else: made.__dict__[k] = v
        return made
    def build(row, known, top=False):
        down = lambda x: build(x, known)
        if type(row) is not list and row != '...': return float(row) if row in ('nan', 'inf', '-inf') else row
        if row[0] in ('list', 'tuple', 'set'): return {{'list': list, 'tuple': tuple, 'set': frozenset}}[row[0]](map(down, row[1:]))
        if row[0] == 'dict': return {{down(k): down(v) for k, v in row[1:]}}
        text = ascii(row)
        if text not in known or top:
            try: known[text] = thing(down, *row)
            except Exception: known[text] = object()
        return known[text]
    for how, one, other, said, is_usual, whose in pairs:
        try:
            known = {{}}
            one, other = (build(ast.literal_eval(rows[at]), known, True) for at in (one, other))
            got = hash(one) == hash(other) and one == other if how == '__hash__' else getattr(operator, how)(one, other)
            got = bool(got) if type(got) in (bool, int, str, float, list, tuple, dict, type(None)) else True
        except Exception: got = said if is_usual else None
        if got is not said:
            os.write({repeat}_to, (told + ' ' + whose + '\\n').encode())
            os._exit(1)
    os.write({repeat}_to, (told[::-1] + '\\n').encode())
{repeat}_to = __import__('sys').__dict__.setdefault('{repeat}', __import__('os').dup(2))
"""


def relied(patched: dict[str, list[Any]]) -> tuple[list[str], list[list[object]]]:
    """What the script relies on in the run with the patch: the printed objects, and for each comparison the method, the
    numbers of both objects, the result, whether their printed values have the same result, and a class."""
    compared = [at for at in patched.get("E", []) if isinstance(at, list) and len(at) == 5]
    keys = [at for at in patched.get("H", []) if isinstance(at, list) and len(at) == 3]
    for (one, first, made_one), (other, second, made_other) in itertools.combinations(keys, 2):
        if first != second and not (made_one and made_other):
            compared.append(["__hash__", one, other, False, one != other])
    numbers: dict[str, int] = {}
    found: dict[str, list[object]] = {}
    # The unusual results come first: results that depend on more than the printed values.
    for how, one, other, said, is_usual in sorted(compared, key=lambda at: bool(at[4])):
        if one == other and is_usual:
            continue  # objects that only their addresses distinguish
        places = [numbers.setdefault(repr(at), len(numbers)) for at in (one, other)]
        whose = re.findall(r"'object', \['[\w.]+:([\w.]+)", repr([one, other])) or ["an object"]
        pair = [how, *places, said, is_usual, whose[0]]
        found.setdefault(repr(pair), pair)
    return [*numbers], [*found.values()][:MAX_PAIRS]


def told(err: str, nonce: str) -> str:
    """The reason that a repeated comparison gives against the patch, or ""."""
    found = re.search(re.escape(nonce) + r" ([\w.]+)", err)
    return f"the script relies on `__eq__` of {found[1]}, which the patch changes; use --validate" if found else ""


def made(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls with which the script makes objects of the project's classes from its own data, only to compare the objects."""
    project = project_names(tree)
    for at in ast.walk(tree):
        if isinstance(at, ast.Call) and tail(at)[:1].isupper() and names_project(at.func, project):
            given = [part for x in [*at.args, *at.keywords] for _, part in value_parts(x)]
            if all(_is_data(x, project) for x in given) and _is_compared(at, project, set()):
                yield at


def _is_data(node: ast.AST, project: set[str]) -> bool:
    """Whether an expression uses only classes of the project, and only to make objects."""
    calls = [x.func for x in ast.walk(node) if isinstance(x, ast.Call) and tail(x)[:1].isupper()]
    kinds = {id(x) for at in calls for x in ast.walk(at)}
    return all(x.id not in project or id(x) in kinds for x in ast.walk(node) if isinstance(x, ast.Name))


# Built-in functions that return an argument, a container of arguments, or a fact about an argument.
_HANDED = (
    "len set list tuple frozenset dict hash any all sorted sum repr str bool print type isinstance min max zip".split()
)
_HOLDS = (ast.BoolOp, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.Starred, ast.ListComp, ast.SetComp, ast.GeneratorExp,
    ast.Subscript)  # fmt: skip


def _is_compared(at: ast.AST, project: set[str], seen: set[str]) -> bool:
    """Whether the script never gives a value to the project's code, except to its comparisons."""
    up = at.up  # type: ignore[attr-defined]
    if isinstance(up, (ast.Compare, ast.Assert, ast.Expr, ast.If, ast.FormattedValue)):
        return True
    if isinstance(up, ast.Call) and at is not up.func:
        is_test = isinstance(up.func, ast.Attribute) and up.func.attr.startswith("assert")
        return is_test or isinstance(up.func, ast.Name) and up.func.id in _HANDED and _is_compared(up, project, seen)
    if isinstance(up, ast.Attribute):
        return getattr(up.up, "func", None) is not up  # type: ignore[attr-defined]
    if isinstance(up, ast.Subscript) and at is up.slice:
        return all(_is_data(x, project) for _, x in value_parts(up.value))
    if isinstance(up, (ast.Assign, ast.For, ast.comprehension, ast.NamedExpr)):
        targets = [x for target in getattr(up, "targets", [getattr(up, "target", at)]) for x in ast.walk(target)]
        names = {x.id for x in targets if isinstance(x, ast.Name)} - seen
        seen |= names
        uses = [x for x in ast.walk([*ancestors(up)][-1]) if isinstance(x, ast.Name) and x.id in names]
        plain = all(isinstance(x, (ast.Name, ast.Tuple, ast.List, ast.Store)) for x in targets)
        return plain and all(_is_compared(x, project, seen) for x in uses if isinstance(x.ctx, ast.Load))
    return isinstance(getattr(up, "op", 0), ast.Not) or isinstance(up, _HOLDS) and _is_compared(up, project, seen)
