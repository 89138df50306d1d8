"""Has the script write out, as plain data, what it compares and of which classes the things are that it handles."""

from __future__ import annotations

import ast

from acr.experiments.expectations import difference, expected_is_right, word
from acr.experiments.site import Site, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acr.experiments.script_variants import Script

# Writes a value as plain data: attributes in place of equality, the classes by their names. The second function writes
# only of which classes a value is, and of how many evaluations at most.
SHOW = """def {name}(x, tag, depth=0, seen=(), left=[3000]):
    import os
    t, me = type(x), {name}
    down = lambda y: me(y, '', depth + 1, seen + (id(x),))
    name_of = lambda c: c.__module__ + ':' + c.__qualname__
    left[0] = 3000 if tag else left[0] - 1
    if t in (int, float, complex, str, bytes, bool, type(None)): s = x
    elif depth > 8 or id(x) in seen or left[0] < 0: s = '...'
    elif t in (list, tuple): s = [t.__name__] + [down(y) for y in x]
    elif t in (set, frozenset): s = ['set'] + sorted([down(y) for y in x], key=repr)
    elif t is dict: s = ['dict'] + sorted([[down(k), down(v)] for k, v in x.items()], key=repr)
    else:
        try:
            bases = [name_of(c) for c in t.__mro__[:-1]]
            if isinstance(x, type): s = ['class', [name_of(c) for c in x.__mro__[:-1]]]
            elif t.__module__ in ('builtins', 'module') : s = ['object', bases, repr(x)]
            else:
                own = dict(getattr(x, '__dict__', None) or {{}})
                for c in t.__mro__:
                    names = c.__dict__.get('__slots__', ())
                    for n in [names] if isinstance(names, str) else names:
                        if hasattr(x, n) and not n.startswith('__'): own[n] = getattr(x, n)
                s = ['object', bases, down(own) if own else repr(x)]
        except Exception: s = ['object', [name_of(t)], 'no text']
    if tag:
        os.write(1, ('\\n{mark}' + tag + ' ' + ascii(s)[:60000] + '\\n').encode())
        return x
    return s
def {kind}(x, tag, depth=0, count={{}}):
    import os
    count[tag] = count.get(tag, 0) + 1
    if tag and count[tag] > 40: return x
    t, down = type(x), lambda y: {kind}(y, '', depth + 1)
    if t in (int, float, complex, str, bytes, bool, type(None)): s = 'plain'
    elif t in (list, tuple, set, frozenset) and depth < 3: s = ['list'] + [down(y) for y in list(x)[:30]]
    elif t is dict and depth < 3: s = ['list'] + [down(y) for y in list(x) [:30] + list(x.values())[:30]]
    else: s = ['object', [c.__module__ + ':' + c.__qualname__ for c in t.__mro__[:-1]]]
    if tag:
        os.write(1, ('\\n{mark}' + tag + ' ' + ascii(s)[:9000] + '\\n').encode())
        return x
    return s
"""


ORDERS = ("Lt", "LtE", "Gt", "GtE")
_SIDED = {
    "isinstance",
    "isclose",
    "assertEqual",
    "assertAlmostEqual",
    "assertIsInstance",
    "assertListEqual",
    "assertDictEqual",
}


LOOKS = ("isclose", "assertEqual", "assertAlmostEqual")


class Pair:
    """Something that the site compares: the node, how ("Eq", "truth", "isclose", …), and whether it must hold.

    holds: True or False where the site needs it so, None where another part may decide. right: the right side says
    what is expected.
    """

    def __init__(self, node: ast.AST, how: str, holds: bool | None, place: tuple[object, object]) -> None:
        self.node, self.how, self.holds, self.place = node, how, holds, place
        self.right = True
        if isinstance(node, ast.Compare):
            orders = how in ORDERS and difference(node)
            self.right = bool(orders) or expected_is_right(node.left, node.comparators[0])
        elif isinstance(node, ast.Call) and how in ("isclose", "assertEqual", "assertAlmostEqual"):
            self.right = expected_is_right(*node.args[:2])

    @property
    def equal(self) -> bool:
        """Whether both sides must be equal."""
        if isinstance(self.node, ast.Compare):
            return self.how in ("Eq", "NotEq") and self.holds is (self.how == "Eq")
        return self.how.endswith("Equal") and self.holds is True

    @property
    def expected(self) -> ast.expr:
        if isinstance(self.node, ast.Compare):
            return self.node.comparators[0] if self.right else self.node.left
        return self.node.args[1 if self.right else 0]  # type: ignore[attr-defined]

    def expect(self, new: ast.expr) -> None:
        if isinstance(self.node, ast.Call):
            self.node.args[1 if self.right else 0] = new
        elif self.right:
            self.node.comparators[0] = new  # type: ignore[attr-defined]
        else:
            self.node.left = new  # type: ignore[attr-defined]


def pairs(site: Site) -> list[Pair]:
    """What the site compares."""
    found: list[Pair] = []
    if site.kind == "call" and not site.test:
        call = site.at.value
        return [Pair(call, tail(call), True, (site.at, "value"))] if tail(call) in _SIDED and len(call.args) > 1 else []
    for node, field, want in site.tests():
        found += _pairs(node, field, want if site.is_sure else None)
    return found


def _pairs(node: object, field: object, want: bool | None) -> list[Pair]:
    test = _test(node, field)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _pairs(test, "operand", None if want is None else not want)
    if isinstance(test, ast.BoolOp):
        sure = want if isinstance(test.op, ast.And) == want else None
        return [pair for at in range(len(test.values)) for pair in _pairs(test.values, at, sure)]
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return [Pair(test, type(test.ops[0]).__name__, want, (node, field))]
    if isinstance(test, ast.Call) and tail(test) in _SIDED and len(test.args) > 1:
        return [Pair(test, tail(test), want, (node, field))]
    if (
        isinstance(test, ast.Call)
        and tail(test) in ("any", "all")
        and test.args
        and isinstance(test.args[0], ast.GeneratorExp)
    ):
        return _pairs(test.args[0], "elt", want if (tail(test) == "all") == want else None)
    if isinstance(test, ast.ListComp) and want is False and len(test.generators[0].ifs) == 1:
        return _pairs(test.generators[0].ifs, 0, False)
    return [Pair(test, "truth", want, (node, field))] if not isinstance(test, (ast.Constant, ast.Compare)) else []


def _test(node: object, field: object) -> ast.AST:
    return node[field] if isinstance(node, list) else getattr(node, field)  # type: ignore[index, call-overload]


def shown(script: Script, mark: str) -> tuple[str, list[Pair]] | None:
    """The script printing both sides of what the site compares, and of which classes the data is that it handles; and
    the pairs."""
    site = script.site()
    if site is None:
        return None
    names, found = _Names(word(script.rng), word(script.rng)), pairs(site)
    nodes = {id(pair.node) for pair in found}
    tests = [x.test for x in ast.walk(site.tree) if isinstance(x, (ast.Assert, ast.If))]
    compared = [x for test in tests for x in ast.walk(test) if isinstance(x, ast.Compare) and id(x) not in nodes]
    _Inner(names).visit(site.tree)
    for number, at in enumerate(compared):
        if len(at.ops) == 1 and isinstance(at.ops[0], (ast.Eq, ast.NotEq)):
            at.left, at.comparators[0] = names.kind(at.left, f"X{number}"), names.kind(at.comparators[0], f"Y{number}")
    for number, pair in enumerate(found):
        _show(pair, names, number)
    site.swap(site.holder, ast.parse(f"{names.name}(0, 'N')").body[0], site.holder)
    site.insert(SHOW.format(name=names.name, kind=names.kinds, mark=mark))
    return site.text(), found


class _Names:
    """Calls of the functions that write values."""

    def __init__(self, name: str, kinds: str) -> None:
        self.name, self.kinds = name, kinds

    def show(self, inner: ast.expr, tag: str) -> ast.expr:
        return ast.Call(ast.Name(self.name, ast.Load()), [inner, ast.Constant(tag)], [])

    def kind(self, inner: ast.expr, tag: str) -> ast.expr:
        return ast.Call(ast.Name(self.kinds, ast.Load()), [inner, ast.Constant(tag)], [])


def _show(pair: Pair, names: _Names, number: int) -> None:
    node, inner = pair.node, difference(pair.node) if isinstance(pair.node, ast.Compare) else None
    holder, field = pair.place
    left, right = f"L{number}", f"R{number}"
    if pair.how == "truth":
        if isinstance(holder, list):
            holder[field] = names.show(node, left)  # type: ignore[arg-type, call-overload]
        else:
            setattr(holder, field, names.show(node, left))  # type: ignore[arg-type, call-overload]
    elif isinstance(node, ast.Call):
        node.args[:2] = [names.show(node.args[0], left), names.show(node.args[1], right)]
    elif isinstance(node, ast.Compare) and inner and pair.how in ORDERS:
        node.comparators[0] = names.show(node.comparators[0], f"T{number}")
        inner.left, inner.right = names.show(inner.left, left), names.show(inner.right, right)
    elif isinstance(node, ast.Compare):
        node.left, node.comparators[0] = names.show(node.left, left), names.show(node.comparators[0], right)


class _Inner(ast.NodeTransformer):
    """Has the script write of which classes things are that operators, calls and loops are given, tags "I"; and the
    cases that loops take from data of the project, tags "C"."""

    def __init__(self, names: _Names) -> None:
        self.names, self.count = names, 0
        self.imported: set[str] = set()

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.AST:  # noqa: N802
        self.imported |= {(at.asname or at.name).split(".")[0] for at in node.names}
        return node

    visit_ImportFrom = visit_Import  # noqa: N815

    def _kind(self, node: ast.expr) -> ast.expr:
        if isinstance(node, (ast.Constant, ast.Starred, ast.Lambda, ast.JoinedStr)):
            return node
        if isinstance(node, ast.Name) and node.id in self.imported:
            return node
        self.count += 1
        return self.names.kind(node, f"I{self.count}")

    def _cases(self, node: ast.expr) -> ast.expr:
        if not any(isinstance(x, ast.Name) and x.id in self.imported for x in ast.walk(node)) or not _is_data(node):
            return self._kind(node)
        self.count += 1
        return self.names.show(node, f"C{self.count}")

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        node.args = [self._kind(at) for at in node.args]
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Call, ast.Name, ast.Subscript)):
            name = node.func.value
            if not (
                isinstance(name, ast.Call) and tail(name) == "super" or isinstance(name, ast.Name) and name.id == "self"
            ):
                node.func.value = self._kind(name)
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

    def visit_For(self, node: ast.For) -> ast.AST:  # noqa: N802
        node.iter = self._cases(node.iter) if _is_data(node.iter) else self._kind(self.visit(node.iter))
        node.body, node.orelse = [self.visit(at) for at in node.body], [self.visit(at) for at in node.orelse]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self._cases(node.iter) if _is_data(node.iter) else self._kind(self.visit(node.iter))
        node.ifs = [self.visit(at) for at in node.ifs]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        node.body = [self.visit(at) for at in node.body]  # neither decorators nor annotations
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: N802
        node.body = [self.visit(at) for at in node.body]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:  # noqa: N802
        return node

    def visit_Match(self, node: ast.AST) -> ast.AST:  # noqa: N802
        node.subject = self._kind(self.visit(node.subject))  # type: ignore[attr-defined]
        for case in node.cases:  # type: ignore[attr-defined]
            case.body = [self.visit(at) for at in case.body]
        return node


def _is_data(node: ast.expr) -> bool:
    """Whether an expression only looks at data: names, attributes, and functions of Python that walk over it."""
    walks = {
        "sorted",
        "list",
        "tuple",
        "set",
        "enumerate",
        "zip",
        "reversed",
        "items",
        "keys",
        "values",
        "range",
        "len",
        "dict",
    }
    allowed = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Load, ast.keyword, ast.Subscript, ast.Slice)
    return all(isinstance(x, allowed) and (not isinstance(x, ast.Call) or tail(x) in walks) for x in ast.walk(node))
