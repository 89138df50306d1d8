"""Writes calls of the witness into the syntax trees of files with tests. Goes before `witness.py`."""

import ast
import itertools
import sys
import types

from acr.observe.witness_channel import bare

DOORS = (
    "around", "guard", "top", "end", "seen", "expected", "after", "called", "operand", "passed",
)  # fmt: skip
LAST = ("called", "operand", "passed", "expected")
RAISES = ("raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "assertRaisesMessage")
DECIDING = {
    "len", "sum", "min", "max", "sorted", "list", "set", "tuple", "dict", "str", "repr", "int", "float", "bool", "abs",
    "all", "any", "isinstance", "issubclass", "hasattr", "getattr", "callable", "type", "round", "hash", "bytes",
    "frozenset", "next", "reversed", "id", "ascii",
}  # fmt: skip


class Operands:
    """What tests compare and call goes through the witness."""

    def __init__(self, called, count):
        self.called, self.count, self.bound = called, count, set()

    def visit(self, node):
        for name in node._fields:
            old = getattr(node, name, None)
            if isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
            elif isinstance(old, list):
                old[:] = [new for at in old for new in (self.visited(at) if isinstance(at, ast.AST) else [at])]
        if type(node) is ast.Compare:
            self.compare(node)
        return self.call(node) if type(node) is ast.Call else node

    def visited(self, node):
        """What stands for an item of a list."""
        number = None
        for item in node.items if isinstance(node, (ast.With, ast.AsyncWith)) else ():
            function = getattr(item.context_expr, "func", None)
            if getattr(function, "id", getattr(function, "attr", "")) in RAISES:
                number = item.context_expr.number = next(self.count)
        node = self.visit(node)
        if number is None:
            return [node]
        node.items.append(ast.withitem(self.called("guard", ast.Constant(number), node), None))
        last = node.body[-1]
        return [node, located(ast.Expr(self.called("after", ast.Constant(number), last)), last)]

    def compare(self, node):
        if any(isinstance(at, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for at in node.ops):
            left, *others = [self.called("seen", at, at) for at in [node.left, *node.comparators]]
            node.left, node.comparators = left, others

    def call(self, node):
        function = node.func
        is_name = isinstance(function, ast.Name)
        name = function.id if is_name else getattr(function, "attr", "")
        is_assertion = name.startswith("assert") and name != "assertRaises"
        if is_assertion or name in RAISES or (is_name and name in DECIDING and name not in self.bound):
            node.func = self.called("called", self.row(function, ast.Constant(name), function), function)
        if hasattr(node, "number") and node.args and not isinstance(node.args[0], ast.Starred):
            row = self.row(node, ast.Constant(node.number), node.args[0])
            node.args[0] = self.called("expected", row, node.args[0])
            return node
        if not is_assertion or any(isinstance(at, ast.Starred) for at in node.args):
            return node
        number = ast.Constant(next(self.count))
        node.args = [
            self.called("operand", self.row(at, number, ast.Constant(index), at), at)
            for index, at in enumerate(node.args)
        ]
        return self.called("passed", self.row(node, number, ast.Constant(name), node), node)

    def row(self, place, *items):
        return located(ast.Tuple(list(items), ast.Load()), place)


class Writer:
    """Writes calls of the witness into the syntax tree of a file with tests."""

    def __init__(self, mark, tests, is_by_name):
        self.mark, self.tests, self.is_by_name, self.doors = mark, tests, is_by_name, [()]
        self.operands = bare(Operands(self.called, itertools.count()))

    def called(self, what, argument, place):
        """`(mark,)[number](argument)` at the place of another node; `placed` puts the functions there."""
        key = ast.Constant(DOORS.index(what) + 1)
        key = key if sys.version_info >= (3, 9) else ast.Index(key)
        held = ast.Name(self.mark, ast.Load()) if self.is_by_name else ast.Constant((self.mark,))
        function = ast.Subscript(held, key, ast.Load())
        return located(ast.Call(function, [argument], []), place)

    def write(self, tree, path):
        """Changes the tree; how many tests it has."""
        found, made = list(functions(tree)), list(made_functions(tree))
        marks, paths = self.tests.marks, self.tests.paths
        bound, stars, kept, data = names_of(tree)
        self.operands.bound = bound if not stars else bound | DECIDING
        if not tree.body:
            return 0, ()
        tree.body = [new for at in tree.body for new in self.operands.visited(at)]
        for is_made, (name, node) in [*((False, at) for at in found), *((True, at) for at in made)]:
            skip = 1 if is_text(node.body[0]) else 0
            body = node.body[skip:] or [located(ast.Pass(), node.body[0])]
            item = ast.withitem(self.called("around", ast.Constant(len(marks)), body[0]), None)
            node.body[skip:] = [located(ast.With([item], body), body[0])]
            marks.append((path, name, is_made))
        skip = 0
        while skip < len(tree.body) - 1 and (
            is_text(tree.body[skip]) or getattr(tree.body[skip], "module", None) == "__future__"
        ):
            skip += 1
        if is_text(tree.body[skip]) or getattr(tree.body[skip], "module", None) == "__future__":
            return 0, ()
        for at, what, place in ((len(tree.body), "end", tree.body[-1]), (skip, "top", tree.body[skip])):
            call = self.called(what, ast.Constant(len(paths)), place)
            tree.body.insert(at, located(ast.Expr(call), place))
        paths.append((path, bound, stars, kept, data, len(found) + len(made)))
        return len(found) + len(made), [name for name, _ in found]

    def placed(self, code):
        """The code with the functions of the witness among its constants, where no name leads to them."""
        if self.is_by_name:
            return code
        doors, mark = self.doors[0], (self.mark,)
        consts = tuple(
            doors if at == mark else self.placed(at) if isinstance(at, types.CodeType) else at for at in code.co_consts
        )
        if hasattr(code, "replace"):
            return code.replace(co_consts=consts)
        numbers = code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize, code.co_flags
        names = code.co_names, code.co_varnames, code.co_filename, code.co_name, code.co_firstlineno, code.co_lnotab
        return types.CodeType(*numbers, code.co_code, consts, *names, code.co_freevars, code.co_cellvars)

    def find_codes(self, code, first):
        """Notes the code of each test of a module by its number."""
        waiting, marks = [code], self.tests.marks
        while waiting:
            at = waiting.pop()
            waiting += [held for held in at.co_consts if isinstance(held, types.CodeType)]
            is_one = self.mark in at.co_names or any(held is self.doors[0] for held in at.co_consts)
            for held in at.co_consts if is_one and at is not code else ():
                if type(held) is int and first <= held < len(marks) and marks[held][1].split(".")[-1] == at.co_name:
                    self.tests.codes.setdefault(held, at)


def located(node, place):
    for at in ast.walk(node):
        if "lineno" in at._attributes and not hasattr(at, "lineno"):
            ast.copy_location(at, place)
    return node


def is_text(node):
    value = getattr(node, "value", None)
    return isinstance(node, ast.Expr) and isinstance(getattr(value, "value", getattr(value, "s", None)), str)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def functions(node, prefix=""):
    """(name, node) of the tests of a module, and of its classes."""
    for block in ("body", "orelse", "finalbody"):
        for at in getattr(node, block, []):
            if isinstance(at, FUNCTIONS):
                if at.name.startswith("test"):
                    yield prefix + at.name, at
            elif isinstance(at, (ast.ClassDef, ast.If, ast.Try, ast.With)):
                yield from functions(at, prefix + at.name + "." if isinstance(at, ast.ClassDef) else prefix)


def made_functions(tree):
    """(name, node) of functions that other functions of a module make and may give away as tests."""
    for maker in ast.walk(tree):
        if isinstance(maker, FUNCTIONS) and not maker.name.startswith("test"):
            returned = {getattr(at.value, "id", "") for at in ast.walk(maker) if isinstance(at, ast.Return)}
            set_by = {
                at.id
                for call in ast.walk(maker)
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "setattr"
                for at in call.args
                if isinstance(at, ast.Name)
            }
            for at in maker.body:
                if isinstance(at, FUNCTIONS) and at.name in returned | set_by:
                    yield at.name, at


def names_of(tree):
    """(names that a module binds, modules whose names it takes, names that its functions may bind again, plain data that it
    only reads).
    """
    bound, stars, kept, written, data = set(), [], set(), set(), set()
    for at in ast.walk(tree):
        if isinstance(at, ast.Name) and not isinstance(at.ctx, ast.Load):
            bound.add(at.id)
        elif isinstance(at, FUNCTIONS + (ast.ClassDef,)):
            bound.add(at.name)
        elif isinstance(at, ast.arg):
            bound.add(at.arg)
        elif isinstance(at, ast.Global):
            bound.update(at.names)
            kept.update(at.names)
        elif isinstance(at, ast.ExceptHandler) and at.name:
            bound.add(at.name)
        elif isinstance(at, (ast.Import, ast.ImportFrom)):
            names = [(each.asname or each.name.split(".")[0]) for each in at.names]
            bound.update(names)
            if "*" in names:
                stars.append(at.module if at.module and not at.level else "")
        elif isinstance(at, (ast.Attribute, ast.Subscript, ast.Starred)) and isinstance(at.value, ast.Name):
            if isinstance(at, ast.Attribute) or not isinstance(at.ctx, ast.Load):
                written.add(at.value.id)
        elif isinstance(at, ast.AugAssign):
            written.add(getattr(at.target, "id", ""))
        for name in ("name", "rest"):  # of patterns
            if type(at).__name__.startswith("Match") and isinstance(getattr(at, name, None), str):
                bound.add(getattr(at, name))
    for at in tree.body:
        if isinstance(at, ast.Assign):
            data.update(each.id for each in at.targets if isinstance(each, ast.Name))
    return bound, stars, kept, data - written
