"""A reproducer's statements: which one a line belongs to, what stands before it, and what only says that it fails."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Place = tuple[int, int]  # line and column


_LOOKS = {"hasattr", "getattr", "dir", "getdoc", "render_doc", "signature", "getfullargspec"}


class Statement:
    """A statement of the script with the block it stands in."""

    def __init__(self, node: ast.stmt, parent: Statement | None, field: str, before: Statement | None) -> None:
        self.node, self.parent, self.field, self.previous = node, parent, field, before
        self.place = (node.lineno, node.col_offset)
        self.blocks: dict[str, list[Statement]] = {}

    @property
    def simple(self) -> bool:
        return not hasattr(self.node, "body") and not hasattr(self.node, "cases")

    def lines(self) -> range:
        """Of its own: of a compound statement its head's."""
        last = self.node.end_lineno or self.node.lineno
        inner = [at.node.lineno for block in self.blocks.values() for at in block[:1]]
        return range(self.node.lineno, max(min([last, *(at - 1 for at in inner)]), self.node.lineno) + 1)


class Script:
    """The statements of a script, and which of them say that something is wrong."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.source = source
        self.all: list[Statement] = []
        self.handlers: dict[Place, tuple[ast.ExceptHandler, Statement]] = {}
        self._block(self.tree.body, None, "body")
        functions = [at.node for at in self.all if isinstance(at.node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        self.failing = {"fail", "exit", "quit"} | {at.name for at in functions if isinstance(at.body[-1], ast.Raise)}

    def _block(self, body: list[ast.stmt], parent: Statement | None, field: str) -> list[Statement]:
        previous, found = None, []
        for node in body:
            previous = Statement(node, parent, field, previous)
            self.all.append(previous)
            found.append(previous)
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(node, name, None)
                if inner:
                    previous.blocks[name] = self._block(inner, previous, name)
            for handler in getattr(node, "handlers", []):
                self.handlers[handler.lineno, handler.col_offset] = handler, previous
                self._block(handler.body, previous, "handler")
            for case in getattr(node, "cases", []):
                self._block(case.body, previous, "case")
        return found

    def at_line(self, line: int) -> Statement | None:
        """The innermost one whose own lines hold the line."""
        fitting = [at for at in self.all if line in at.lines()]
        return min(fitting, key=lambda at: (not at.simple, len(at.lines())), default=None)

    def literals(self, place: Place) -> tuple[ast.expr | None, ast.expr | None]:
        """The two sides of the only comparison in a statement, where they are constants, else None."""
        at = next((at for at in self.all if at.place == place), None)
        heads = [getattr(at.node, "test", at.node)] if at and (at.simple or hasattr(at.node, "test")) else []
        found = [node for head in heads for node in ast.walk(head) if isinstance(node, ast.Compare)]
        if len(found) != 1 or len(found[0].ops) != 1:
            return None, None
        return self._constant(found[0].left), self._constant(found[0].comparators[0])

    def _constant(self, node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.Name):
            stored = [at for at in ast.walk(self.tree) if isinstance(at, ast.Name) and at.id == node.id]
            stored = [at for at in stored if not isinstance(at.ctx, ast.Load)]
            made = [at.value for at in self.tree.body if isinstance(at, ast.Assign) and at.targets == stored]
            bound = any(isinstance(at, ast.arg) and at.arg == node.id for at in ast.walk(self.tree))
            node = made[0] if len(made) == 1 and not bound else node
        return node if isinstance(node, ast.Constant) else None

    def _is_literal(self, node: ast.expr) -> bool:
        """Whether the script alone says what it is."""
        made = {
            at.targets[0].id: at.value for at in self.tree.body if isinstance(at, ast.Assign) and _is_name(at.targets)
        }
        node = made.get(node.id, node) if isinstance(node, ast.Name) else node
        literal = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.unaryop, ast.expr_context)
        return all(isinstance(at, literal) for at in ast.walk(node))

    def only_looks(self, test: ast.expr) -> bool:
        """Whether a condition asks what is written in an imported thing, not what it does."""
        imports = [at for at in ast.walk(self.tree) if isinstance(at, (ast.Import, ast.ImportFrom))]
        imported = {(at.asname or at.name).split(".")[0] for node in imports for at in node.names}
        made = {
            at.targets[0].id: at.value
            for at in self.tree.body
            if isinstance(at, ast.Assign) and isinstance(at.targets[0], ast.Name)
        }
        nodes = [at for part in ast.walk(test) for at in ast.walk(made.get(getattr(part, "id", ""), part))]
        for at in nodes:
            if isinstance(at, ast.Call) and tail(at.func) in _LOOKS and at.args:
                looked = at.args[0]
            elif isinstance(at, ast.Attribute) and at.attr in ("__doc__", "__version__"):
                looked = at.value
            else:
                continue
            while isinstance(looked, ast.Attribute):
                looked = looked.value
            if isinstance(looked, ast.Name) and looked.id in imported:
                return True
        return False

    def skips(self, handler: ast.ExceptHandler, statement: Statement) -> bool:
        """Whether a handler only passes over what it caught, and nothing says that this had to come."""
        passes = (ast.Pass, ast.Continue)
        if not all(isinstance(at, passes) or isinstance(getattr(at, "value", None), ast.Call) for at in handler.body):
            return False
        following = next((at for at in self.all if at.previous is statement), None)
        inside = [at for name in ("body", "orelse") for at in statement.blocks.get(name, [])]
        if any(self.is_stop(at) for at in [*inside, *([following] if following else [])]):
            return False
        return isinstance(handler.body[-1], passes) and len(inside) == 1

    def is_stop(self, at: Statement) -> bool:
        """Whether it only ever says that something is wrong."""
        if isinstance(at.node, ast.Raise):
            return True
        if isinstance(at.node, ast.Assert):
            return isinstance(at.node.test, ast.Constant) and not at.node.test.value
        call = at.node.value if isinstance(at.node, ast.Expr) else None
        name = tail(call.func) if isinstance(call, ast.Call) else ""
        return name in self.failing

    def measures(self, names: set[str]) -> Iterator[tuple[int, str]]:
        """(line, name) of what compares something but a constant with one of some imported names, or loops over it."""
        imports = [at for at in ast.walk(self.tree) if isinstance(at, (ast.Import, ast.ImportFrom))]
        imported = {at.asname or at.name.split(".")[0] for node in imports for at in node.names}
        for at in ast.walk(self.tree):
            sides, by = [], []
            if isinstance(at, ast.Compare):
                sides = [at.left, *at.comparators]
            elif isinstance(at, ast.Call) and tail(at.func).startswith(("assert", "isclose", "allclose", "approx")):
                sides, by = at.args, [keyword.value for keyword in at.keywords]
            elif isinstance(at, (ast.For, ast.comprehension)):
                by = [part for part in ast.walk(at.iter) if isinstance(part, ast.expr)]
            if not any(self._is_literal(side) for side in sides):
                by = [*by, *sides]
            found = {(side.lineno, tail(_held(side))) for side in by if _is_of(_held(side), names, imported)}
            yield from sorted(found)


def _is_name(targets: list[ast.expr]) -> bool:
    return len(targets) == 1 and isinstance(targets[0], ast.Name)


def _held(node: ast.expr) -> ast.expr:
    """What a subscript or a method's call is made of."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        node = node.value if isinstance(node, ast.Subscript) else node.func.value
    return node


def _is_of(node: ast.expr, names: set[str], imported: set[str]) -> bool:
    whole = node
    while isinstance(whole, ast.Attribute):
        whole = whole.value
    return tail(node) in names and isinstance(whole, ast.Name) and whole.id in imported


def tail(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
