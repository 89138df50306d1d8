"""Changes the value that a test of the script expects, so that the test must give the other result."""

from __future__ import annotations

import ast
import copy

from acr.experiments.comparisons import LIKE, NEAR, ORDERS, SIDED, Slot, difference, of_test, pairs
from acr.experiments.site import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random

    from acr.experiments.comparisons import Pair
    from acr.experiments.site import Site

MAX_TRIES = 12
_LETTERS = "abcdefghijkmnpqrstuvwxyz"
# Methods and functions whose first argument, or last one, is the expected value.
_FIRST = {"search", "match", "fullmatch", "startswith", "endswith"}
_LAST = {"isclose", "allclose", "array_equal", "approx_equal"}
# Shifts any plain value; any other value becomes an object that equals nothing.
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
    """One change of an expected value. `number` selects the constant, and whether the change is small or large. With
    `shift`, the function of that name shifts the value while the script runs. `gate`: a name of the script that is
    true at the evaluations to which the change applies.
    """

    def __init__(self, rng: random.Random, number: int, shift: str = "", gate: str = "") -> None:
        self.rng, self.number, self.shift, self.gate = rng, number, shift, gate
        self.original: ast.expr | None = None
        self.observed: Slot | None = None  # the slot of the other side of the comparison
        self.words = ""

    def equate(self) -> bool:
        """Replaces the observed side by the right expected value."""
        if self.original is None or self.observed is None:
            return False
        self.observed.put(copy.deepcopy(self.original))
        return True

    def change(self, slot: Slot, far: bool = False) -> bool:
        """Changes the expected side in a slot; returns whether the side could be changed."""
        new = self.side(slot.get(), far)
        if new is not None:
            slot.put(new)
        return new is not None

    def side(self, node: ast.expr, far: bool = False) -> ast.expr | None:
        """The expected side with another value; None if it cannot be changed, or no try is left."""
        new = copy.deepcopy(node)
        if self.shift:
            self.words = f"`{_short(node)}` replaced by a shifted value while the script runs"
            return self.gated(node, ast.Call(ast.Name(self.shift, ast.Load()), [new], []))
        kept = {id(y) for x in ast.walk(new) for y in selecting(x)}
        found = [x for x in ast.walk(new) if isinstance(x, ast.Constant) and id(x) not in kept]
        found = [x for x in found if self.another(x.value, True) is not None]
        if not found or self.number >= 2 * len(found):
            return None
        at = found[self.number // 2] if 2 * len(found) <= MAX_TRIES else self.rng.choice(found)
        at.value = self.another(at.value, far or self.number % 2 == 1)
        self.words = f"`{_short(new)}` in place of `{_short(node)}`"
        return self.gated(node, new)

    def gated(self, node: ast.expr, new: ast.expr) -> ast.expr:
        self.original = node
        return ast.IfExp(ast.Name(self.gate, ast.Load()), new, node) if self.gate else new

    def another(self, value: object, far: bool) -> object:
        """Another plain value of the same kind; None if there is no such value."""
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
        self.words = f"an unrelated class expected in place of `{_short(node)}`"
        return ast.Name(name, ast.Load())


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."


def selecting(node: ast.AST) -> list[ast.AST]:
    """Constants that select what the script reads and do not state an expected value, such as keys."""
    if isinstance(node, ast.Subscript):
        return list(ast.walk(node.slice))
    if isinstance(node, ast.JoinedStr):
        return list(ast.walk(node))
    if isinstance(node, ast.Call) and tail(node) in ("round", "open", "getattr", "encode", "decode", "get"):
        return [x for at in node.args for x in ast.walk(at)]
    return []


def change_test(place: Slot, want: bool, edit: Edit) -> bool:
    """Changes a test whose result must be `want`, so that it must have the opposite result; returns whether that was possible."""
    test = place.get()
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return change_test(Slot(test, "operand"), not want, edit)
    if isinstance(test, ast.BoolOp):
        # `and` fails if one part fails; `or` fails only if all parts fail.
        parts = [Slot(test.values, at) for at in range(len(test.values))]
        done = [change_test(at, want, edit) for at in (reversed(parts) if want else parts)]
        return all(done) if isinstance(test.op, ast.Or) == want else any(done)
    return any([_change_pair(pair, edit) for pair in of_test(place, want)])


def _change_pair(pair: Pair, edit: Edit) -> bool:
    how, slot, far = pair.how, pair.expected, pair.how in NEAR
    if pair.holds is None or pair.is_vague:
        return False
    if how == "truth":
        return pair.holds and _change_call(pair.left.get(), edit)
    if how in ORDERS:
        return _change_order(pair, edit)
    if how == "helper":
        if pair.call is None or tail(pair.call.get()) not in LIKE:
            return False
        slot, far = pair.right, True
    elif how == ("In" if pair.holds else "NotIn"):
        is_constant = isinstance(pair.left.get(), ast.Constant)
        listed = isinstance(pair.right.get(), (ast.Tuple, ast.List, ast.Set)) and not is_constant
        if listed and not edit.shift:
            return _change_members(pair.right, edit)
        if not listed and not is_constant and not edit.shift:
            return False
        slot, far = pair.right if listed else pair.left, True
    elif not pair.equal and how not in SIDED and how != ("Is" if pair.holds else "IsNot"):
        return False
    elif how in ("Eq", "NotEq"):
        edit.observed = pair.left if pair.is_right else pair.right
    return edit.change(slot, far)


def _change_members(place: Slot, edit: Edit) -> bool:
    """`got in (a, b)`: all members change."""
    members = place.get().elts  # type: ignore[attr-defined]
    if edit.number > 1 or not all(isinstance(x, ast.Constant) for x in members):
        return False
    old = copy.deepcopy(place.get())
    for x in members:
        x.value = edit.another(x.value, True)
        if x.value is None:
            return False
    place.put(edit.gated(old, place.get()))
    edit.words = f"members other than those of `{_short(old)}`"
    return True


def _change_order(pair: Pair, edit: Edit) -> bool:
    inner, below = difference(pair.left.get()), pair.how in ("Lt", "LtE")
    if inner and below == pair.holds:
        return edit.change(Slot(inner, "right"), True)
    if edit.number or edit.shift:
        return False
    old, sign = pair.right.get(), "-" if below == pair.holds else ""
    edit.words = f"`{_short(old)}` replaced by {sign}infinity"
    pair.right.put(edit.gated(old, ast.parse(f"float('{sign}inf')", mode="eval").body))
    return True


def _change_call(test: ast.expr, edit: Edit) -> bool:
    """Changes a call that must return a true value."""
    name, args = tail(test), test.args if isinstance(test, ast.Call) else []
    if name in _FIRST | _LAST and args:
        return edit.change(Slot(args, 1 if name in _LAST and len(args) > 1 else 0), True)
    method = isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute)
    if method and name in ("all", "equals") and args:
        return edit.change(Slot(args, 0))
    return method and name == "all" and change_test(Slot(test.func, "value"), True, edit)  # type: ignore[attr-defined]


def change_site(site: Site, edit: Edit, fresh: str) -> bool:
    """Changes the expected value of a site of any kind; `fresh`: a class name that the script will define."""
    if site.test:
        return any([change_test(Slot(node, field), want, edit) for node, field, want in site.tests()])
    if site.kind == "try":
        return not edit.shift and edit.number == 0 and _change_handlers(site, edit, fresh)
    return site.kind in ("call", "with") and _change_assertion(site, edit, fresh)


def _change_handlers(site: Site, edit: Edit, fresh: str) -> bool:
    handlers = [at for at in site.awaited() if at.type is not None]
    for handler in handlers:
        handler.type = edit.class_(handler.type, fresh)
    return bool(handlers)


def _change_assertion(site: Site, edit: Edit, fresh: str) -> bool:
    call = site.at.value if isinstance(site.at, ast.Expr) else site.at.items[0].context_expr  # type: ignore[attr-defined]
    if not isinstance(call, ast.Call) or not call.args:
        return False
    if tail(call) in ("assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "raises", "warns"):
        if edit.shift or edit.number:
            return False
        call.args[0] = edit.class_(call.args[0], fresh)
        return True
    return any([_change_pair(pair, edit) for pair in pairs(site)])
