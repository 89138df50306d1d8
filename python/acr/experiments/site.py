"""Finds the statement of a script that failed without the patch, and the expression that decides whether it fails."""

from __future__ import annotations

import ast

from acr.experiments.decoy import is_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Test = tuple[ast.AST, str, bool]  # a node, its field that holds a test, and how the test must come out

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITH = (ast.With, ast.AsyncWith)
_LEAVES = (ast.Return, ast.Break, ast.Continue)
_PLACES = (
    ast.Assert, ast.Raise, ast.Expr, ast.With, ast.AsyncWith, ast.Assign, ast.Return, ast.AugAssign, ast.AnnAssign,
)  # fmt: skip
GROWS = {"append", "add", "extend", "insert", "appendleft"}
BROAD = {"Exception", "BaseException", "Warning"}
MAX_FOLLOWED = 5  # maximum number of names that are traced to the expressions that computed them
UNITTEST = {
    one: other
    for pair in (
        "Equal NotEqual", "True False", "Is IsNot", "IsNone IsNotNone", "In NotIn", "IsInstance NotIsInstance",
        "AlmostEqual NotAlmostEqual", "Greater LessEqual", "Less GreaterEqual", "Regex NotRegex",
    )
    for a, b in [[f"assert{word}" for word in pair.split()]]
    for one, other in ((a, b), (b, a))
}  # fmt: skip


def tail(node: ast.AST) -> str:
    """The last name of a dotted expression, or of the function that a call calls."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def ancestors(at: ast.AST) -> Iterator[ast.AST]:
    """The ancestors of a node in a site's tree, innermost first."""
    while hasattr(at, "up"):
        at = at.up
        yield at


def is_stop(at: ast.AST) -> bool:
    """Whether a statement is one that scripts use to report failure."""
    if isinstance(at, ast.Raise):
        return at.exc is not None and tail(at.exc) == "AssertionError"
    if isinstance(at, ast.Assert):
        return isinstance(at.test, ast.Constant) and not at.test.value
    return isinstance(at, ast.Expr) and isinstance(at.value, ast.Call) and tail(at.value) == "fail"


def waits(at: ast.AST) -> bool:
    """Whether a `with` statement expects an error."""
    call = at.items[0].context_expr if isinstance(at, _WITH) else None
    return isinstance(call, ast.Call) and tail(call) in ("assertRaises", "assertRaisesRegex", "raises")


def stops(at: ast.AST) -> bool:
    return any(is_stop(x) for x in ast.walk(at))


def leaves(at: ast.AST) -> bool:
    """Whether a statement leaves the block that it is in."""
    call = at.value if isinstance(at, ast.Expr) else None
    return isinstance(at, _LEAVES) or isinstance(call, ast.Call) and tail(call) in ("exit", "quit")


class _Suppressing(ast.NodeTransformer):
    """Turns `with suppress(Error):` into the equivalent `try`."""

    def visit_With(self, node: ast.With) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        call = node.items[0].context_expr
        if len(node.items) > 1 or not isinstance(call, ast.Call) or tail(call) != "suppress" or not call.args:
            return node
        handler = ast.ExceptHandler(ast.Tuple(call.args, ast.Load()), None, [ast.Pass()])
        new = ast.copy_location(ast.Try(node.body, [handler], [], []), node)
        return ast.fix_missing_locations(new)


class Site:
    """A private parse of the script, which a variant may change.

    kind: "ways" (branches without a test), "test" (`test` says where the deciding expression is and which result it
    must have), "try" (`attempt` is the statement, `child` the part with the failing statement), "call", "with",
    "statement", or "" if nothing is known to decide. `at` is the statement that failed, `holder` the one that variants
    change.
    """

    def __init__(self, source: str, line: int, is_deeper: bool = False) -> None:
        self.tree = _Suppressing().visit(ast.parse(source))
        for up in ast.walk(self.tree):
            for down in ast.iter_child_nodes(up):
                down.up = up  # type: ignore[attr-defined]
        self.kind, self.test, self.attempt, self.child = "", None, None, None
        self.is_stop = False  # `at` always fails, so another statement decides whether it is reached
        self.is_sure = True  # every evaluation of the test must give the stated result, not only one
        near = [x for x in ast.walk(self.tree) if isinstance(x, _PLACES) and _spans(x, line)]
        near = [x for x in near if not isinstance(x, _WITH) or line <= x.body[0].lineno or len(near) == 1]
        self.at = self.holder = max(near, key=lambda x: (x.lineno, -(x.end_lineno or 0)), default=None)
        self.line = self.at.lineno if self.at else line
        if self.at is not None:
            self._decide(is_deeper)

    def _decide(self, is_deeper: bool) -> None:
        at = self.at
        if is_stop(at) or is_deeper:
            self.is_stop = True
            self._find_branch(at)
            if not self.kind and not is_stop(at) and not isinstance(at, ast.Raise):
                self.kind, self.is_stop = "statement", False  # the call ended otherwise than expected
        elif isinstance(at, ast.Assert):
            self.kind, self.test = "test", (at, "test", True)
        elif isinstance(at, ast.Expr) and isinstance(at.value, ast.Call) and tail(at.value).startswith("assert"):
            self.kind = "call"
            if tail(at.value) in ("assertTrue", "assertFalse", "assert_") and at.value.args:
                self.test = (at.value.args, 0, tail(at.value) != "assertFalse")
        elif isinstance(at, _WITH):
            self.kind = "with"
        elif not isinstance(at, ast.Raise):
            self.kind = "statement"

    def _find_branch(self, at: ast.AST) -> None:
        """Finds what decides whether a statement that always fails is reached: a branch around it or before it."""
        while self.kind == "" and not isinstance(at, (*FUNCTIONS, ast.Module)):
            up = at.up  # type: ignore[attr-defined]
            block = next((b for _, b in ast.iter_fields(up) if isinstance(b, list) and at in b), [])
            for before in reversed(block[: block.index(at)] if block else []):
                self._find_leaving(before)
                if self.kind:
                    return
            if isinstance(up, ast.If):
                self.kind, self.holder, self.test = "test", up, (up, "test", at not in up.body)
            elif isinstance(up, (ast.Try, ast.ExceptHandler)):
                self.child = at if isinstance(up, ast.Try) else up
                self.kind, self.holder = "try", up if isinstance(up, ast.Try) else up.up  # type: ignore[attr-defined]
                self.attempt = self.holder
            elif isinstance(up, getattr(ast, "match_case", ())):
                self.kind, self.holder = "ways", up.up  # type: ignore[attr-defined]
            elif isinstance(up, LOOPS) and at in up.orelse:
                self._find_leaving(up)
                self.holder, self.is_sure = up, False
            at = up

    def _find_leaving(self, before: ast.AST) -> None:
        """Handles a failing statement that is reached because an earlier statement did not leave the block."""
        inner = [before] if isinstance(before, (ast.If, ast.Try)) else []
        inner += [x for x in getattr(before, "body", []) if isinstance(before, LOOPS) and isinstance(x, ast.If)]
        for x in inner:
            if isinstance(x, ast.If) and x.body and leaves(x.body[-1]):
                self.kind, self.holder, self.test = "test", x, (x, "test", True)
            elif isinstance(x, ast.If) and x.orelse and leaves(x.orelse[-1]):
                self.kind, self.holder, self.test = "test", x, (x, "test", False)
            elif isinstance(x, ast.Try) and any(leaves(y) for y in ast.walk(x)):
                self.kind, self.holder, self.attempt = "try", x, x

    def awaited(self) -> list[ast.ExceptHandler]:
        """The handlers of the errors that the site expects."""
        handlers = self.attempt.handlers if self.kind == "try" else []  # type: ignore[attr-defined]
        return [at for at in handlers if at is not self.child and not any(isinstance(x, ast.Raise) for x in at.body)]

    def waits_for_error(self) -> bool:
        """Whether a `try` decides whether the site fails, or the site is in a handler."""
        return self.attempt is not None or any(isinstance(at, ast.ExceptHandler) for at in ancestors(self.at))

    def awaits_anything(self) -> bool:
        """Whether the site accepts an error or warning of any class, or any log line."""
        call = self.at.items[0].context_expr if self.kind == "with" else None  # type: ignore[attr-defined]
        if tail(call) in ("assertLogs", "raises", "warns", "assertRaises", "assertWarns"):
            classes = [] if call.keywords and tail(call) in ("raises", "warns") else call.args[:1]
            return tail(call) == "assertLogs" or any(tail(at) in BROAD for at in classes)
        return any(at.type is None or tail(at.type) in BROAD for at in self.awaited())

    def awaits_no_error(self) -> bool:
        """Whether the site is a handler that only fails, and no other part of the script expects an error."""
        fails = isinstance(self.child, ast.ExceptHandler) and not self.awaited()
        return fails and not any(map(waits, ast.walk(self.tree)))

    def text(self) -> str:
        return ast.unparse(ast.fix_missing_locations(self.tree)) + "\n"

    def swap(self, old: ast.AST, *new: ast.AST) -> None:
        """Replaces a statement by others."""
        for _, block in ast.iter_fields(old.up):  # type: ignore[attr-defined]
            if isinstance(block, list) and old in block:
                block[block.index(old) : block.index(old) + 1] = new

    def insert(self, source: str) -> None:
        """Puts statements at the beginning of the script."""
        body = self.tree.body
        at = int(is_text(body[0])) if body else 0
        while at < len(body) and isinstance(body[at], ast.ImportFrom) and body[at].module == "__future__":
            at += 1
        body[at:at] = ast.parse(source).body

    def tests(self) -> list[Test]:
        """The deciding tests: the site's own test, or, if that is a name, the tests that computed the name."""
        return list(self._follow(*self.test, 0)) if self.test else []

    def _follow(self, node: ast.AST, field: str, want: bool, depth: int) -> Iterator[Test]:
        test = node[field] if isinstance(node, list) else getattr(node, field)
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            node, field, test, want = test, "operand", test.operand, not want
        name = test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = test.left, test.comparators[0]
            empty = isinstance(right, ast.Constant) and right.value in (0, False) or _is_empty(right)
            if empty and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.NotEq)):
                name, flips = left, isinstance(test.ops[0], (ast.Eq, ast.Is))
                want_name = want != flips
            elif isinstance(right, ast.Constant) and right.value is True:
                name, want_name = left, want
        else:
            want_name = want
        if isinstance(name, ast.Call) and tail(name) in ("len", "bool") and len(name.args) == 1:
            name = name.args[0]
        follows = isinstance(name, ast.Name) and depth < MAX_FOLLOWED
        found = list(self._computed(name, want_name, depth)) if follows else []
        yield from found or [(node, field, want)]

    def _computed(self, name: ast.Name, want: bool, depth: int) -> Iterator[Test]:
        values = []
        for x in ast.walk(self.tree):
            if isinstance(x, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name.id for t in x.targets):
                if isinstance(x.value, ast.Constant) and isinstance(x.value.value, bool):
                    yield from self._around(x, want is x.value.value, depth)
                elif not isinstance(x.value, ast.Constant) and not _is_empty(x.value):
                    values.append(x)
            elif isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name) and x.target.id == name.id:
                if isinstance(x.value, ast.Constant) or not isinstance(x.value, (ast.UnaryOp, ast.Compare, ast.Name)):
                    yield from self._around(x, want, depth)
                else:
                    yield from self._follow(x, "value", want, depth + 1)
            elif isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute) and x.func.attr in GROWS:
                if isinstance(x.func.value, ast.Name) and x.func.value.id == name.id and isinstance(x.up, ast.Expr):  # type: ignore[attr-defined]
                    yield from self._around(x.up, want, depth)  # type: ignore[attr-defined]
        kinds = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.ListComp, ast.Name)
        if len(values) == 1 and (isinstance(values[0].value, kinds) or _compares(values[0].value)):
            yield from self._follow(values[0], "value", want, depth + 1)

    def _around(self, at: ast.AST, want: bool, depth: int) -> Iterator[Test]:
        """The branch that leads to a statement that records a failure."""
        up = at.up  # type: ignore[attr-defined]
        if isinstance(up, ast.If):
            yield from self._follow(up, "test", want if at in up.body else not want, depth + 1)


def _spans(at: ast.AST, line: int) -> bool:
    return at.lineno <= line <= (at.end_lineno or at.lineno)


def _compares(node: ast.AST) -> bool:
    """Whether a call might compare its arguments."""
    return isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > 1


def _is_empty(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return tail(node) in ("list", "dict", "set") and not node.args
    return isinstance(node, (ast.List, ast.Tuple, ast.Dict)) and not getattr(node, "elts", getattr(node, "keys", []))


def find(source: str, lines: list[int]) -> Site | None:
    """The site for the script's lines in a traceback, outermost first; None if no deciding expression is known."""
    is_deeper = False
    for line in reversed(lines):
        site = Site(source, line, is_deeper)
        if site.kind:
            return site
        is_deeper = True
    return None
