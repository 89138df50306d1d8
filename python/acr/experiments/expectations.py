"""Changes what a test of the script expects, so that the test must come out otherwise."""

from __future__ import annotations

import ast
import copy

from acr.experiments.comparisons import difference, expected_is_right
from acr.experiments.site import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random

    from acr.experiments.site import Site

MAX_TRIES = 12
_LETTERS = "abcdefghijkmnpqrstuvwxyz"
_EQUAL = {
    "assertEqual", "assertEquals", "assertAlmostEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual",
    "assertSetEqual", "assertSequenceEqual", "assertCountEqual", "assertMultiLineEqual", "assert_allclose",
    "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_equal", "assert_identical",
    "assert_frame_equal", "assert_series_equal",
}  # fmt: skip
_FIRST = {"search", "match", "fullmatch", "startswith", "endswith"}  # methods and functions that take what is expected
_LAST = {"isclose", "allclose", "array_equal", "approx_equal"}
# Shifts any plain value; what is not plain becomes an object that equals nothing.
SHIFT = """def {name}(x, n={word!r}, d={number}):
    t = type(x)
    if t is bool: return not x
    if t in (int, float, complex) or t.__module__ in ('decimal', '_decimal', 'fractions'): return x + d
    if t is str: return x + n
    if t is bytes: return x + n.encode()
    if t is list: return x + [n]
    if t is tuple: return x + (n,)
    if t in (set, frozenset): return x | {{n}}
    if t is dict: return dict(list(x.items()) + [(n, n)])
    return object()
"""


def word(rng: random.Random, length: int = 9) -> str:
    return "".join(rng.choice(_LETTERS) for _ in range(length))


class Edit:
    """One change of what is expected: the try's number chooses the constant and whether it changes a little or a lot;
    with `shift` the value is shifted while the script runs, by the function of that name. `gate`: a name of the script
    that is true where the change applies."""

    def __init__(self, rng: random.Random, number: int, shift: str = "", gate: str = "") -> None:
        self.rng, self.number, self.shift, self.gate = rng, number, shift, gate
        self.original: ast.expr | None = None
        self.observed: tuple[ast.AST, str] | None = None  # where the other side of the comparison stands
        self.words = ""

    def equate(self) -> bool:
        """Puts the right expectation in the place of what is observed."""
        if self.original is None or self.observed is None:
            return False
        node, field = self.observed
        if field == "left":
            node.left = copy.deepcopy(self.original)  # type: ignore[attr-defined]
        else:
            node.comparators[0] = copy.deepcopy(self.original)  # type: ignore[attr-defined]
        return True

    def side(self, node: ast.expr, far: bool = False) -> ast.expr | None:
        """The expected side, expecting something else; None where it cannot, or no try is left."""
        new = copy.deepcopy(node)
        if self.shift:
            self.words = f"`{_short(node)}` shifted while the script runs"
            return self._put(node, ast.Call(ast.Name(self.shift, ast.Load()), [new], []))
        kept = {id(y) for x in ast.walk(new) for y in _keys(x)}
        found = [x for x in ast.walk(new) if isinstance(x, ast.Constant) and id(x) not in kept]
        found = [x for x in found if self.another(x.value, True) is not None]
        if not found or self.number >= 2 * len(found):
            return None
        at = found[self.number // 2]
        at.value = self.another(at.value, far or self.number % 2 == 1)
        self.words = f"`{_short(new)}` in place of `{_short(node)}`"
        return self._put(node, new)

    def _put(self, node: ast.expr, new: ast.expr) -> ast.expr:
        self.original = node
        return ast.IfExp(ast.Name(self.gate, ast.Load()), new, node) if self.gate else new

    def another(self, value: object, far: bool) -> object:
        """Another plain value of the same kind; None where there is none."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float, complex)):
            return value + (self.rng.randrange(1000, 99999) if far else 1)
        if isinstance(value, bytes):
            return value + (word(self.rng).encode() if far else b"q")
        if not isinstance(value, str):
            return None
        if far or not value:
            return word(self.rng) + value
        at = self.rng.choice([i for i, c in enumerate(value) if c.isalnum()] or [len(value) - 1])
        old = value[at]
        new = str((int(old) + 1) % 10) if old in "0123456789" else "z" if old == "q" else "q"
        return value[:at] + new + value[at + 1 :]

    def class_(self, node: ast.expr, name: str) -> ast.expr:
        self.words = f"a class of the host's own expected in place of `{_short(node)}`"
        return ast.Name(name, ast.Load())


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."


def _keys(node: ast.AST) -> list[ast.AST]:
    """Constants that select what the script reads, rather than say what it expects."""
    if isinstance(node, ast.Subscript):
        return list(ast.walk(node.slice))
    if isinstance(node, ast.JoinedStr):
        return list(ast.walk(node))
    if isinstance(node, ast.Call) and tail(node) in ("round", "open", "getattr", "encode", "decode", "get"):
        return [x for at in node.args for x in ast.walk(at)]
    return []


def change_test(test: ast.AST, want: bool, edit: Edit) -> bool:
    """Whether the test, which is to come out as `want`, was made to come out otherwise."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return change_test(test.operand, not want, edit)
    if isinstance(test, ast.BoolOp):
        # One part that fails is enough for `and`; of `or` all must.
        done = [change_test(at, want, edit) for at in (reversed(test.values) if want else test.values)]
        return all(done) if isinstance(test.op, ast.Or) == want else any(done)
    if isinstance(test, ast.Compare):
        return _change_compare(test, want, edit) if len(test.ops) == 1 else _change_chain(test, want, edit)
    if isinstance(test, (ast.ListComp, ast.GeneratorExp)) and not want:
        return any([change_test(x, False, edit) for at in test.generators for x in at.ifs])
    if isinstance(test, ast.Call):
        return _change_call(test, want, edit)
    return False


def _change_chain(test: ast.Compare, want: bool, edit: Edit) -> bool:
    """`a == b == expected`."""
    if not want or not all(isinstance(op, ast.Eq) for op in test.ops):
        return False
    side = edit.side(test.comparators[-1])
    test.comparators[-1] = side or test.comparators[-1]
    return side is not None


def _change_compare(test: ast.Compare, want: bool, edit: Edit) -> bool:
    op, right, far = test.ops[0], True, False
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return _change_order(test, want, edit)
    if isinstance(op, ast.Eq if want else ast.NotEq):
        right = expected_is_right(test.left, test.comparators[0])
    elif isinstance(op, ast.In if want else ast.NotIn):
        listed = isinstance(test.comparators[0], (ast.Tuple, ast.List, ast.Set))
        right, far = listed and not isinstance(test.left, ast.Constant), True
        if right and isinstance(test.comparators[0], (ast.Tuple, ast.List, ast.Set)) and not edit.shift:
            return _change_members(test, edit)
        if not right and not isinstance(test.left, ast.Constant) and not edit.shift:
            return False
    else:
        return False
    side = edit.side(test.comparators[0] if right else test.left, far)
    if side is not None and right:
        test.comparators[0] = side
    elif side is not None:
        test.left = side
    if isinstance(op, (ast.Eq, ast.NotEq)):
        edit.observed = (test, "left" if right else "comparators")
    return side is not None


def _change_members(test: ast.Compare, edit: Edit) -> bool:
    """`got in (a, b)`: all members change."""
    members = test.comparators[0].elts  # type: ignore[attr-defined]
    if edit.number > 1 or not all(isinstance(x, ast.Constant) for x in members):
        return False
    old = copy.deepcopy(test.comparators[0])
    for x in members:
        x.value = edit.another(x.value, True)
        if x.value is None:
            return False
    test.comparators[0] = edit._put(old, test.comparators[0])
    edit.words = f"other members than those of `{_short(old)}`"
    return True


def _change_order(test: ast.Compare, want: bool, edit: Edit) -> bool:
    op, inner = test.ops[0], difference(test)
    below = isinstance(op, (ast.Lt, ast.LtE))
    if inner and below == want:
        side = edit.side(inner.right, True)
        inner.right = side or inner.right
        return side is not None
    if edit.number or edit.shift:
        return False
    old, sign = test.comparators[0], "-" if below == want else ""
    new = ast.parse(f"float('{sign}inf')", mode="eval").body
    edit.words = f"`{_short(old)}` replaced by {sign}infinity"
    test.comparators[0] = edit._put(old, new)
    return True


def _change_call(test: ast.Call, want: bool, edit: Edit) -> bool:
    name = tail(test)
    if name in ("any", "all") and test.args and isinstance(test.args[0], (ast.GeneratorExp, ast.ListComp)):
        return (name == "all") == want and change_test(test.args[0].elt, want, edit)
    if not want:
        return False
    if name in _FIRST | _LAST and test.args:
        at = 0 if name in _FIRST else 1 if len(test.args) > 1 else 0
        side = edit.side(test.args[at], True)
        test.args[at] = side or test.args[at]
        return side is not None
    if isinstance(test.func, ast.Attribute) and name in ("all", "equals") and test.args[:1]:
        side = edit.side(test.args[0])
        test.args[0] = side or test.args[0]
        return side is not None
    inner = [test.func.value] if isinstance(test.func, ast.Attribute) and name == "all" else []
    inner += test.args[:1] if name in ("all", "bool") else []
    return any([change_test(x, want, edit) for x in inner])


def change_site(site: Site, edit: Edit, fresh: str) -> bool:
    """The same for a site of any kind; `fresh`: the name of a class that the script will have."""
    if site.kind == "test" or site.test:
        tests = site.tests()
        done = [change_test(_get(node, field), want, edit) for node, field, want in tests]
        return any(done)
    if site.kind == "try":
        return not edit.shift and edit.number == 0 and _change_handlers(site, edit, fresh)
    if site.kind in ("call", "with"):
        return _change_assertion(site, edit, fresh)
    return False


def _get(node: object, field: object) -> ast.AST:
    return node[field] if isinstance(node, list) else getattr(node, field)  # type: ignore[index, call-overload]


def _change_handlers(site: Site, edit: Edit, fresh: str) -> bool:
    handlers = [
        h
        for h in site.attempt.handlers  # type: ignore[attr-defined]
        if h is not site.child and h.type is not None and not any(isinstance(x, ast.Raise) for x in h.body)
    ]
    for handler in handlers:
        handler.type = edit.class_(handler.type, fresh)
    return bool(handlers)


def _change_assertion(site: Site, edit: Edit, fresh: str) -> bool:
    call = site.at.value if isinstance(site.at, ast.Expr) else site.at.items[0].context_expr  # type: ignore[attr-defined]
    if not isinstance(call, ast.Call) or not call.args:
        return False
    name = tail(call)
    if name in ("assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "raises", "warns"):
        if edit.shift or edit.number:
            return False
        call.args[0] = edit.class_(call.args[0], fresh)
        return True
    if name in _EQUAL and len(call.args) > 1:
        at = 1 if expected_is_right(*call.args[:2]) else 0
        far = "lmost" in name or "close" in name
    elif name in ("assertIn", "assertRegex", "assertIs"):
        at, far = 0 if name == "assertIn" else 1, True
    else:
        return False
    side = edit.side(call.args[at], far)
    call.args[at] = side or call.args[at]
    return side is not None
