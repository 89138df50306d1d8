"""A file that a patch changes: what in it a comparison must not go by."""

from __future__ import annotations

import ast
import builtins
import re

from acr import changed_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


DECIDING = {
    "__eq__", "__ne__", "__bool__", "__len__", "__contains__", "__instancecheck__", "__repr__", "__str__", "__format__",
    "__abs__", "__float__", "__int__", "__round__", "__sub__", "__rsub__", "__add__", "__radd__", "__mul__", "__rmul__",
    "__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__divmod__", "__pow__", "__neg__",
    "__pos__", "__invert__", "__index__", "__complex__", "__bytes__", "__floor__", "__ceil__", "__trunc__", "__fspath__",
}  # fmt: skip
# Methods that decide what an object of the class is.
_MAKERS = {
    "__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__getattribute__", "__getattr__",
}  # fmt: skip
_EXCLUDES = re.compile(r"\b(compare|eq)\s*=\s*False|__(kw)?defaults__|__code__")
_PLAIN = {"int", "float", "complex", "str", "bytes", "list", "tuple"}
# Methods that only make, copy or show an object.
_HARMLESS = {
    "__init__", "__new__", "__repr__", "__slots__", "__doc__", "__reduce__", "__reduce_ex__", "__getnewargs__",
    "__copy__", "__deepcopy__", "__hash__", "__init_subclass__", "__class_getitem__", "__module__", "__call__",
    "__annotations__", "__getattr__", "__get__", "__set_name__",
}  # fmt: skip
_NAMELESS = ("<genexpr>", "<listcomp>", "<lambda>", "<dictcomp>", "<setcomp>")


class Change:
    """A file of Python code that the patch changes; `ranges` of lines are those of the version after."""

    def __init__(self, before: str, after: str, ranges: list[list[int]]) -> None:
        self.ranges = ranges
        self.before, self.after = _scopes(before), _scopes(after)
        self.names = set(_assigned(after, self.touches))
        self.data = _data(after, self.touches) & _data(before, lambda *_: True)
        self.values = set(_assigned(after, self.touches, imports=False))
        self.constant = sorted(set(_constant(after, self.touches)) - set(_constant(before, lambda *_: True)))
        self.covered = sorted((_bound(after) - _bound(before)) & set(dir(builtins)))
        self.liars = sorted(name for name in set(self.after) - set(self.before) if _is_liar(self.after[name]))
        lines = after.split("\n")
        self.text = "\n".join(line for first, last in ranges for line in lines[max(first - 1, 0) : last])

    def touches(self, first: int, last: int) -> bool:
        return any(a <= last and first <= b for a, b in self.ranges)

    def changed(self, name: str, line: int) -> bool:
        """Whether the function that begins in a line is changed, or cannot be found."""
        for node in self.after.values():
            first = min([node.lineno, *(at.lineno for at in node.decorator_list)])
            if node.name == name and first <= line <= node.lineno:
                return self.touches(first, node.end_lineno or first)
        return name not in _NAMELESS or self.touches(line, line)

    def made(self, qualified: str) -> bool:
        """Whether a class is new, or cannot be found, or makes its objects or compares otherwise."""
        name = qualified.replace(".<locals>", "")
        now, was = self.after.get(name), self.before.get(name)
        if now is None:  # made by a call
            return re.search(rf"\b{re.escape(name.split('.')[-1])}\b", self.text) is not None
        if was is None or changed_code.header(now) != changed_code.header(was) or _EXCLUDES.search(self.text):
            return True
        if any(at.startswith("__") for at in changed_code.members(now) ^ changed_code.members(was)):
            return True
        makers = [
            at for at in now.body if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)) and at.name in _MAKERS
        ]
        return any(self.touches(at.lineno, at.end_lineno or at.lineno) for at in makers)


def _scopes(source: str) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Functions and classes by their qualified names; of several of a name the last."""
    found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for at in ast.iter_child_nodes(node):
            if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[prefix + at.name] = at
                walk(at, prefix + at.name + ".")
            elif isinstance(at, (ast.stmt, ast.ExceptHandler)):
                walk(at, prefix)

    try:
        walk(ast.parse(source), "")
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return found


def _bound(source: str) -> set[str]:
    """The names that a module binds, but for those in blocks."""
    try:
        return changed_code.members(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return set()


def _data(source: str, touches: Callable[[int, int], bool]) -> set[str]:
    """The names that a module's changed statements assign plain data to."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return set()
    plain = (
        ast.Constant,
        ast.List,
        ast.Tuple,
        ast.Dict,
        ast.Set,
        ast.UnaryOp,
        ast.BinOp,
        ast.expr_context,
        ast.operator,
    )
    return {
        target.id
        for at in body
        if isinstance(at, (ast.Assign, ast.AnnAssign))
        and at.value
        and touches(at.lineno, at.end_lineno or at.lineno)
        and all(isinstance(part, (*plain, ast.unaryop)) for part in ast.walk(at.value))
        for target in (at.targets if isinstance(at, ast.Assign) else [at.target])
        if isinstance(target, ast.Name)
    }


def _is_liar(node: ast.AST) -> bool:
    """Whether it is a class of plain data with answers of its own, with which anything could be computed."""
    if not isinstance(node, ast.ClassDef) or not any(isinstance(at, ast.Name) and at.id in _PLAIN for at in node.bases):
        return False
    return any(at.startswith("__") and at not in _HARMLESS for at in changed_code.members(node))


def _constant(source: str, touches: Callable[[int, int], bool]) -> Iterator[str]:
    """The names of changed functions that do nothing but return True, False, or nothing."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and touches(node.lineno, node.end_lineno or node.lineno):
            last, takes = node.body[-1], len(node.args.args) + len(node.args.posonlyargs) > 0
            value = last.value if isinstance(last, ast.Return) else None
            same = isinstance(value, ast.Constant) and (isinstance(value.value, bool) or node.name in DECIDING)
            alone = all(isinstance(at, ast.Expr) and isinstance(at.value, ast.Constant) for at in node.body[:-1])
            if takes and alone and (same or isinstance(last, ast.Pass)):
                yield node.name


def _assigned(source: str, touches: Callable[[int, int], bool], imports: bool = True) -> Iterator[str]:
    """The names that changed statements outside functions assign."""
    try:
        left: list[ast.AST] = list(ast.parse(source).body)
    except (SyntaxError, ValueError, RecursionError):
        return
    while left:
        node = left.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and touches(node.lineno, node.end_lineno or 0):
            yield from (at.id for at in ast.walk(node) if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Store))
            if imports and isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from ((at.asname or at.name).split(".")[0] for at in node.names)
        left.extend(ast.iter_child_nodes(node))
