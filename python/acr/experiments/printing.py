"""Makes the script print, as plain data, the values that it compares and the classes of the objects that it handles."""

from __future__ import annotations

import ast
import copy
import re

from acr.experiments import equality, plain_names, reached
from acr.experiments.comparisons import LIKE, origin, others, pairs
from acr.experiments.decoy import is_text
from acr.experiments.expectations import word
from acr.experiments.site import FUNCTIONS, ancestors, is_stop, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.experiments.comparisons import Pair
    from acr.experiments.script_variants import Script

# Writes a value as plain data, with attributes instead of equality and classes by name. The second function writes only
# the classes of a value, and only for a limited number of evaluations.
# Both functions write to a copy of descriptor 1, because a test runner inside the script does not capture the copy. The
# copy is made only once, because the runner may import the script again.
SHOW = """def {name}(x, tag, depth=0, seen=(), left=[30000]):
    import collections, numbers, os
    t, me = type(x), {name}
    held = ((str, str.__str__), (int, int.__int__), (float, float.__float__), (dict, dict), (list, list), (tuple, tuple),
        (set, set), (frozenset, set), (collections.deque, list), (type({{}}.keys()), list), (type({{}}.values()), list),
        (type({{}}.items()), list), (type(type.__dict__), dict))
    down = lambda y: me(y, '', depth + 1, seen + (id(x),), left)
    name_of = lambda c: c.__module__ + ':' + c.__qualname__
    left[0] = 30000 if tag else left[0] - 1
    if tag and tag[0] in 'CDXYMP':
        me.count = getattr(me, 'count', {{}})
        me.count[tag] = me.count.get(tag, 0) + 1
        if me.count[tag] > 40: return x
    if t is int and x.bit_length() > 14000: s = '...'  # Python does not write longer numbers
    elif t in (int, float, complex, str, bytes, bool, type(None)): s = str(x) if t in (float, complex) and x - x != 0 else x
    elif depth > 40 or id(x) in seen or left[0] < 0: s = '...'
    elif t in (list, tuple): s = [t.__name__] + [down(y) for y in x]
    elif t.__name__ == 'Pattern' and t.__module__ == 're': s = ['object', ['re:Pattern'], down((x.pattern, int(x.flags)))]
    elif t is slice: s = ['object', ['builtins:slice'], [down(x.start), down(x.stop), down(x.step)]]
    elif t in (set, frozenset): s = ['set'] + sorted([down(y) for y in x], key=repr)
    elif t is dict: s = ['dict'] + sorted([[down(k), down(v)] for k, v in x.items()], key=repr)
    else:
        try:
            bases = [name_of(c) for c in t.__mro__[:-1]]
            if not isinstance(x, type): {watch}(t)
            if isinstance(x, type): s = ['class', [name_of(c) for c in x.__mro__[:-1]]]
            else:
                own = {{'=' * (getattr(t.__eq__, '{watch}', t.__eq__) is c.__eq__ and '_' not in c.__name__): get(x) for c, get in held if isinstance(x, c)}}
                if t.__module__.split('.')[0] == 'numpy' and hasattr(x, 'tolist'): own = {{'=': x.tolist() if x.size < 20000 else '...'}}
                elif isinstance(x, numbers.Number) and not own: own = {{'': int(x) if isinstance(x, numbers.Integral) else complex(x)}}
                if t.__module__ not in ('builtins', 'module'): own.update((n, v) for n, v in (getattr(x, '__dict__', None) or {{}}).items() if n not in ('', '='))
                for c in t.__mro__:
                    names = c.__dict__.get('__slots__', ())
                    for n in [names] if isinstance(names, str) else names:
                        if hasattr(x, n) and not n.startswith('__'): own[n] = getattr(x, n)
                text = ascii(getattr(x, '__module__', '')) + ':' + ascii(getattr(x, '__qualname__', '<'))
                s = ['object', bases, down(own) if own else repr(x) if '<' in text or 'function' not in t.__name__ else text.replace("'", '')]
        except Exception: s = ['object', [name_of(t)], 'no text']
    if tag:
        out = ascii(s)
        if len(out) > 60000 and type(s) is list and s[0] == 'object': out = ascii([*s[:2], '...'])
        if len(out) > 60000 and type(s) is list:
            import re
            out = ascii(['object', sorted(set(re.findall("'([A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*)'", out)))[:300], '...'])
        os.write({name}_to, ('\\n{mark}' + tag + ' ' + out[:60000] + '\\n').encode())
        return x
    return s
def {kind}(x, tag, depth=0, count={{}}):
    import os
    count[tag] = count.get(tag, 0) + 1
    if tag and count[tag] > 40: return x
    t, down = type(x), lambda y: {kind}(y, '', depth + 1)
    if t in (int, float, complex, str, bytes, bool, type(None)): s = 'nan' if t is float and x != x else 'plain'
    elif t in (list, tuple, set, frozenset) and depth < 8:
        s = ['list'] + [down(y) for y in list(x)[:30]] + ['nan' for y in x if type(y) is float and y != y][:1]
    elif t is dict and depth < 8: s = ['list'] + [down(y) for y in list(x) [:30] + list(x.values())[:30]]
    else:
        {watch}(t)
        s = ['object', [c.__module__ + ':' + c.__qualname__ for c in t.__mro__[:-1]]]
    if tag:
        os.write({name}_to, ('\\n{mark}' + tag + ' ' + ascii(s)[:9000] + '\\n').encode())
        return x
    return s
{name}_to = __import__('sys').__dict__.setdefault('{name}', __import__('os').dup(1))
"""


# Writes at the end the state that Python's library and other packages share with the script: for each module a checksum
# of its functions, and of its classes and public data if it is of the standard library. The
# tag is "T". The same rows are written when the script first reaches the site.
LIBRARY = """def {library}(early=False, was={{}}, done=[]):
    import os, sys, zlib
    plain = (int, float, str, bytes, bool, type(None))
    def text(v, depth=0):
        if type(v) in (list, tuple, dict, set, frozenset) and depth < 5:
            return sorted([ascii(text(y, depth + 1)) for y in (v.items() if type(v) is dict else v)])
        if type(v) in plain: return 'path' if str(v)[:1] == '/' else v  # each run has other folders
        code = getattr(getattr(v, '__func__', v), '__code__', None)
        return (code.co_filename, code.co_name) if hasattr(code, 'co_name') else type(v).__qualname__
    if not was:
        was.update(os.environ)
        return
    if early and done: return
    done.append(early)
    sums, known = {{}}, getattr(sys, 'stdlib_module_names', ())
    getattr(sys.modules.get('mimetypes'), 'guess_type', str)('')
    for name, module in sorted(sys.modules.items()):
        ours = name.split('.')[0] in known
        if name in ('__main__', 'sys', 'site', 'linecache') or not ours and '-packages' not in str(getattr(module, '__file__', '')): continue
        held = sorted(getattr(module, '__dict__', {{}}).items())
        data = (*plain, list, tuple, dict, set) if ours and name != 'inspect' else ()
        shared = lambda n, v: type(v) in data and n[0] != '_' and n not in ('environ', 'tempdir', 'onceregistry', 'cache')
        texts = [(n, text(v), getattr(v, '__qualname__', '')) for n, v in held if callable(v) or shared(n, v)]
        own = [v for n, v in held if ours and isinstance(v, type) and v.__module__ == name]
        texts += [(k, text(y, 5)) for v in own for k, y in sorted(v.__dict__.items())]
        sums[name] = zlib.crc32(ascii(texts).encode())
    if 'decimal' in sums:
        now = sys.modules['decimal'].getcontext()
        sums['decimal '] = [now.prec, now.rounding, now.capitals, now.clamp, now.Emin, now.Emax, sorted(str(k) for k, v in now.traps.items() if v)]
    if 'logging' in sums:
        root = sys.modules['logging'].root
        loggers = [(n, g) for n, g in [('', root), *sorted(root.manager.loggerDict.items())] if hasattr(g, 'disabled')]
        sums.update(('logging ' + n, [g.disabled, g.level > 50, len(g.filters), getattr(g, 'propagate', 1), root.manager.disable]) for n, g in loggers)
    if 'numpy' in sums:
        sums['numpy '] = ascii([sorted(map(str, y().items())) for y in (sys.modules['numpy'].geterr, sys.modules['numpy'].get_printoptions)])
    sums['os.environ '] = sorted(n for n in {{*was, *os.environ}} if was.get(n) != os.environ.get(n))
    sums['sys '] = [sys.getrecursionlimit(), type(sys.stdout).__name__, type(sys.stderr).__name__, type(sys.excepthook).__name__]
    os.write({name}_to, ('\\n{mark}T ' + ascii(sums) + '\\n').encode())
{library}()
import atexit
atexit.register({library})
del atexit
"""


# Writes, with the tag "V", actions of the process for which plain code has no reason.
DEEDS = """def {deeds}():
    import os, re, sys
    seen, library = set(), {{*getattr(sys, 'stdlib_module_names', ('builtins', 'os', 'sys', 'posix', 'gc')), '__main__'}}
    own = getattr(sys.modules['__main__'], '__file__', '')
    own = own and os.path.abspath(own)
    def hook(event, args):
        said = event if event in {events!r} else ''
        if event in ('open', 'os.listdir', 'os.scandir') and isinstance(args[0], (str, bytes)):
            path = os.path.normpath(os.fsdecode(args[0]))
            writes = event == 'open' and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            code = writes and path.endswith(('.py', '.pth', '.so'))
            if re.match('/+(proc|dev/(fd|std|mem))(/|$)', path): said = 'open ' + re.sub('[0-9]+', 'N', path)
            elif code: said = 'write ' + os.path.basename(path)
            elif own and os.path.abspath(path) == own and sys._getframe(1).f_globals.get('__name__') != 'tokenize': said = 'open the script'
        if event == 'os.rename' and os.fsdecode(args[1]).endswith(('.py', '.pth', '.so')): said = 'write ' + os.path.basename(os.fsdecode(args[1]))
        if event == 'import' and args[0] in {modules!r}: said = 'import ' + args[0]
        if event == 'pickle.find_class' and '.'.join(map(str, args)) not in {pickled!r} and args[0].split('.')[0] in library:
            said = 'unpickle ' + '.'.join(map(str, args))
        if event == 'exec' and not re.search('[.]py[co]?$|^<frozen', getattr(args[0], 'co_filename', '')):
            asks = sys._getframe(1).f_globals.get('__name__', '')
            if asks.split('.')[0] not in ('dataclasses', 'collections', 'attr', 'enum', '__main__'):
                names, codes = set(), [args[0]]
                for code in codes:
                    names.update(code.co_names)
                    codes += [c for c in code.co_consts if hasattr(c, 'co_names')]
                said = 'exec ' + ' '.join(sorted(names))
        if event == 'object.__getattr__' and args[1] in ('gi_frame', 'cr_frame', 'ag_frame', 'tb_frame', 'f_back'):
            asks = sys._getframe(1).f_globals.get('__name__', '').split('.')[0]
            if asks not in getattr(sys, 'stdlib_module_names', ()): said = 'look at ' + args[1]
        if said and said not in seen:
            seen.add(said)
            os.write({name}_to, ('\\n{mark}V ' + ascii(said[:200]) + '\\n').encode())
    if hasattr(sys, 'addaudithook'): sys.addaudithook(hook)
{deeds}()
"""
# Conversions that may lose duplicates, missing entries that a dictionary makes, a fraction, or line ends.
CONVERSIONS = ("set", "frozenset", "dict", "int", "split")
_EVENTS = ("sys.settrace", "sys.setprofile", "sys.addaudithook", "sys._current_frames", "gc.get_objects", "gc.get_referrers",
    "gc.get_referents", "ctypes.string_at", "ctypes.cdata", "ctypes.cdata/buffer")  # fmt: skip
_REPORTED = {"events": _EVENTS, "modules": plain_names.IMPORTED, "pickled": plain_names.PICKLED}


def shown(script: Script, mark: str, carries_on: bool) -> tuple[str, list[Pair]] | None:
    """The script that prints both sides of its comparisons and the classes of the data that it handles; and the pairs,
    those of the site first, with tags "L" and "R".
    carries_on: the script continues after a failed assertion.
    """
    site = script.site()
    if site is None:
        return None
    names, own = _Names(word(script.rng), word(script.rng)), pairs(site)
    found = [*own, *others(site, own)]
    inner, before = _Inner(names), [x for x in ast.walk(site.tree) if isinstance(x, ast.stmt)]
    for number, pair in enumerate(found):
        kinds = "LR" if number < len(own) else "BB" if pair.how == "truth" else "XY"
        pair.tags = (f"{kinds[0]}{number}", f"{kinds[1]}{number}")
        sides = [pair.left.get(), pair.right.get()]
        pair.listed = [(ast.unparse(at), reached.listed(at)) for at in sides]
        inner.known |= set(map(id, sides))
    deeds, library, watch = (word(script.rng) for _ in range(3))
    made = [*equality.made(site.tree)]
    kept = [(pair, name, x) for pair in found for name, value in _kept(pair)
            for x in before if isinstance(x, ast.Assign) and x.value is value]  # fmt: skip
    marked = [(at, reached.tag(at)) for at in before]
    inner.visit(site.tree)
    for number, (pair, name, at) in enumerate(kept):
        at.value = names.call(names.name, at.value, f"A{number}")
        use = names.call(names.name, ast.Name(name, ast.Load()), f"U{number}")
        both = ast.Tuple([use, pair.expected.get()], ast.Load())
        pair.expected.put(ast.Subscript(both, ast.Constant(1), ast.Load()))
    for pair in found:
        _show(pair, names)
    for at, tag in marked:
        # A test runner inside the script must see failed assertions as failures.
        inside = any(str(getattr(up, "name", "")).startswith("test") for up in ancestors(at))
        is_run = inside and "pytest.main" in script.source
        row = (names.name + "(0, '{}')").format
        failed = row("F") if at in (site.at, site.holder) else "pass"
        marks = [row("N"), f"{library}(True)"] * (at is site.holder) + [row(tag)] * bool(tag) + [failed] * is_stop(at)
        new, after = carried_on(at, failed) if carries_on and not is_run else at, []
        ends = [row("P" + tag[1:])] * (tag != "" and not isinstance(at, ast.If))
        (new.body if new is not at and isinstance(new, ast.Try) else after).extend(ast.parse("".join(ends)).body)
        site.swap(at, *ast.parse("\n".join(marks)).body, new, *after)
    for at in made:
        at.func, at.args, at.keywords = ast.Name(f"{watch}_made", ast.Load()), [copy.copy(at)], []
    for at in before:
        if isinstance(at, (ast.Import, ast.ImportFrom)) and getattr(at, "module", "") != "__future__":
            site.swap(at, at, *ast.parse(f"{watch}()").body)
    if not re.search(r"exit|quit|main", script.source):  # then each passing run reaches the end of the script
        last = len(script.source.rstrip().split("\n"))
        site.tree.body += ast.parse(f"{names.name}(0, 'M{last}_9999s')").body
    site.insert(
        equality.WATCH.format(name=names.name, watch=watch, mark=mark, calls=equality.MAX_CALLS, keys=equality.MAX_KEYS)
        + SHOW.format(name=names.name, kind=names.kinds, mark=mark, watch=watch)
        + DEEDS.format(name=names.name, deeds=deeds, mark=mark, **_REPORTED)
        + LIBRARY.format(name=names.name, library=library, mark=mark)
    )
    return site.text(), found


def carried_on(at: ast.stmt, failed: str = "pass") -> ast.stmt:
    """The statement, changed so that the script continues after a failed assertion and then runs `failed`."""
    if is_stop(at):
        return at if _ends_more(at) else ast.Pass()
    call = tail(at.items[0].context_expr) if isinstance(at, (ast.With, ast.AsyncWith)) else ""
    waits = call.startswith(("assert", "raises"))
    if not waits and not isinstance(at, ast.Assert) and not (isinstance(at, ast.Expr) and not is_text(at)):
        return at
    handler = ast.ExceptHandler(ast.Name("AssertionError", ast.Load()), None, ast.parse(failed).body)
    return ast.Try([at], [handler], [], [])


def _ends_more(at: ast.AST) -> bool:
    """Whether a failing statement ends a function that exists to fail, or a loop that would not end otherwise."""
    if isinstance(at.up, FUNCTIONS):  # type: ignore[attr-defined]
        return True
    while not isinstance(at, (ast.Module, ast.While)):
        at = at.up  # type: ignore[attr-defined]
    return isinstance(at, ast.While)


def _kept(pair: Pair) -> Iterator[tuple[str, ast.expr]]:
    """The names that only expectations use, each with the only expression whose value is assigned to the name."""
    observed = pair.left if pair.is_right else pair.right
    names = [{x.id: x for x in ast.walk(at.get()) if isinstance(x, ast.Name)} for at in (pair.expected, observed)]
    states = pair.equal or pair.call and tail(pair.call.get()) in LIKE
    is_whole = isinstance(pair.expected.get(), ast.Name)
    yield from ((name, origin(x)) for name, x in names[0].items() if states and (is_whole or name not in names[1]))


class _Names:
    """Makes calls of the functions that print values."""

    def __init__(self, name: str, kinds: str) -> None:
        self.name, self.kinds = name, kinds

    @staticmethod
    def call(name: str, inner: ast.expr, tag: str) -> ast.expr:
        return ast.Call(ast.Name(name, ast.Load()), [inner, ast.Constant(tag)], [])


def _show(pair: Pair, names: _Names) -> None:
    whole = [x.id for x in ast.walk(pair.left.get()) if isinstance(x, ast.Name) and isinstance(origin(x), ast.Call)]
    if pair.right is not pair.left:
        pair.right.put(names.call(names.name, pair.right.get(), pair.tags[1]))
    pair.left.put(names.call(names.name, pair.left.get(), pair.tags[0]))
    for name in whole * (pair.tags[0][:1] == "L"):
        both = [pair.left.get(), names.call(names.name, ast.Name(name, ast.Load()), f"D{name}")]
        pair.left.put(ast.Subscript(ast.Tuple(both, ast.Load()), ast.Constant(0), ast.Load()))


class _Inner(ast.NodeTransformer):
    """Makes the script write the classes of the operands of operators, calls and loops, tags "I"; and what it converts, tags "C"."""

    def __init__(self, names: _Names) -> None:
        self.names, self.count = names, 0
        self.imported: set[str] = set()
        self.known: set[int] = set()  # nodes that are written out anyway

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.AST:  # noqa: N802
        self.imported |= {(at.asname or at.name).split(".")[0] for at in node.names}
        return node

    visit_ImportFrom = visit_Import  # noqa: N815

    def _kind(self, node: ast.expr, converts: str = "") -> ast.expr:
        is_known = id(node) in self.known or isinstance(node, ast.Name) and node.id in self.imported
        if is_known or isinstance(node, (ast.Constant, ast.Starred, ast.Lambda, ast.JoinedStr)):
            return node
        self.count += 1
        if converts in CONVERSIONS:
            return self.names.call(self.names.name, node, f"C{self.count}{converts}")
        return self.names.call(self.names.kinds, node, f"I{self.count}")

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        name = getattr(node.func, "id", "")
        node.args[:] = [self._kind(at, name) for at in node.args]
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Call, ast.Name, ast.Subscript)):
            name = node.func.value
            if getattr(name, "id", "") != "self" and (not isinstance(name, ast.Call) or tail(name) != "super"):
                node.func.value = self._kind(name, "split" * (node.func.attr == "split" and not node.args))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        node.left, node.right = self._kind(node.left), self._kind(node.right)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._kind(node.value)
            node.slice = node.slice if isinstance(node.slice, (ast.Slice, ast.Tuple)) else self._kind(node.slice)
        return node

    def visit_For(self, node: ast.For | ast.comprehension) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        node.iter = self._kind(node.iter)
        return node

    visit_comprehension = visit_For

    def visit_GeneratorExp(self, node: ast.GeneratorExp | ast.ListComp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        node.elt = self._kind(node.elt)
        return node

    visit_ListComp = visit_GeneratorExp  # noqa: N815

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:  # noqa: N802
        node.body = [self.visit(at) for at in node.body]  # decorators and annotations stay as they are
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # noqa: N815
