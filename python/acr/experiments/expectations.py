"""Shifts the value that a test of the script expects, so that the test must give the other result."""

from __future__ import annotations

import ast

from acr.experiments.comparisons import LIKE, NEAR, ORDERS, SIDED, Slot, difference, is_literal, of_test, pairs
from acr.experiments.site import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random

    from acr.experiments.comparisons import Pair
    from acr.experiments.site import Site

_LETTERS = "abcdefghijkmnpqrstuvwxyz"
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


class Edit(ast.NodeTransformer):
    """Makes the function `shift` shift an expected value while the script runs; inner: a constant from which the script
    computes this value. `gate`: a name of the script that is true at the evaluations to which the change applies."""

    def __init__(self, shift: str, inner: bool, gate: str) -> None:
        self.shift, self.inner, self.gate = shift, inner, gate
        self.words = ""

    def change(self, slot: Slot) -> bool:
        """Changes the expected side in a slot; returns whether the side could be changed."""
        node, text = slot.get(), ast.unparse(slot.get())
        new = ast.parse(f"({text})", mode="eval").body
        self.all = {id(x) for x in ast.walk(new)}
        self.kept = {id(y) for x in ast.walk(new) for y in selecting(x)}
        new = self.visit(new) if self.inner else self._shifted(node)
        if self.inner and (is_literal(node) or ast.unparse(new) == text):
            return False
        short = text if len(text) <= 60 else text[:57] + "..."
        self.words = f"`{short}` replaced by a shifted value while the script runs"
        slot.put(ast.IfExp(ast.Name(self.gate, ast.Load()), new, node) if self.gate else new)
        return True

    def _shifted(self, node: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(self.shift, ast.Load()), [node], [])

    def visit_Constant(self, node: ast.Constant) -> ast.expr:  # noqa: N802
        if id(node) in self.kept or node.value in (None, ...):
            return node
        self.kept |= self.all  # to shift two constants may change nothing, as in a difference
        return self._shifted(node)


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
        done = [change_test(Slot(test.values, at), want, edit) for at in range(len(test.values))]
        return all(done) if isinstance(test.op, ast.Or) == want else any(done)
    return any([_change_pair(pair, edit) for pair in of_test(place, want)])


def _change_pair(pair: Pair, edit: Edit) -> bool:
    how = pair.how
    if pair.holds is None or pair.is_vague:
        return False
    if how in ORDERS:
        inner = difference(pair.left.get())
        return inner is not None and (how in ("Lt", "LtE")) == pair.holds and edit.change(Slot(inner, "right"))
    if how == "helper":
        return tail(pair.call.get()) in LIKE and edit.change(pair.right)  # type: ignore[union-attr]
    if how == ("In" if pair.holds else "NotIn"):
        return isinstance(pair.left.get(), ast.Constant) and edit.change(pair.left)
    states = pair.equal or how in {*SIDED, *NEAR} or how == ("Is" if pair.holds else "IsNot")
    return states and edit.change(pair.expected)


def change_site(site: Site, edit: Edit) -> bool:
    """Changes the expected value of a site of any kind."""
    if site.test:
        return any([change_test(Slot(node, field), want, edit) for node, field, want in site.tests()])
    return site.kind == "call" and any([_change_pair(pair, edit) for pair in pairs(site)])
