"""The script with calls of the observer in it."""

import ast
import types
import warnings

BEFORE, BEHIND = 0, 1
BLOCKS = ("body", "orelse", "finalbody")
TESTS = (ast.If, ast.While, ast.IfExp, ast.Assert)
MARK = "\0observe:"
OPERATORS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
# Functions whose answer about an object is its class's own.
ASKS = (
    "isinstance",
    "issubclass",
    "bool",
    "any",
    "all",
    "len",
    "sorted",
    "set",
    "list",
    "tuple",
    "sum",
    "map",
    "max",
    "min",
    "isclose",
)
# Functions of containers and operators that compare what they are given.
LOOK_UPS = (
    "isclose",
    "get",
    "pop",
    "setdefault",
    "index",
    "count",
    "remove",
    "discard",
    "eq",
    "ne",
    "__eq__",
    "__ne__",
    "__contains__",
)


# Functions of the library that do.
LIBRARY = (
    "SequenceMatcher", "unified_diff", "context_diff", "ndiff", "compare", "bisect", "bisect_left", "bisect_right", "insort",
    "Counter", "groupby", "reduce", "nsmallest", "nlargest", "mean", "median", "mode", "fsum", "compare_digest", "difference",
    "intersection", "symmetric_difference", "issubset", "issuperset", "isdisjoint",
)  # fmt: skip


class Rewrite(ast.NodeTransformer):
    """The script with calls of the observer. `at` is the place of the statement that is being rewritten."""

    def __init__(self, kept=()):
        self.at = (0, 0)
        self.kept = kept

    def call(self, name, like, *arguments):
        values = [ast.Constant(at) for at in self.at] + list(arguments)
        node = ast.Call(func=ast.Constant(MARK + name), args=values, keywords=[])
        for part in [node, node.func] + [at for at in values if not hasattr(at, "lineno")]:
            ast.copy_location(part, like)
        return node

    def count(self, like, side):
        place = ast.Constant((like.lineno, like.col_offset, side))
        node = ast.Expr(ast.Call(func=ast.Constant(MARK + "count"), args=[place], keywords=[]))
        for part in (node, node.value, node.value.func, place):
            ast.copy_location(part, like)
        return node

    def block(self, statements):
        """The statements with a count before and behind each."""
        out = []
        for position, statement in enumerate(statements):
            if is_future(statement) or (position == 0 and is_text(statement)):
                out.append(statement)
                continue
            outer, self.at = self.at, (statement.lineno, statement.col_offset)
            before, behind = self.count(statement, BEFORE), self.count(statement, BEHIND)
            new = self.visit(statement)
            self.at = outer
            out.append(before)
            out.extend(new if isinstance(new, list) else [new])
            if not isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                out.append(behind)
            names = [ast.Constant(at) for at in sorted(self.kept.get(id(statement), ()))]
            if names:
                out.append(ast.copy_location(ast.Expr(self.call("keep", statement, *names)), statement))
        return out

    def generic_visit(self, node):
        for name, value in ast.iter_fields(node):
            if name in BLOCKS and isinstance(value, list):
                setattr(node, name, self.block(value))
            elif isinstance(value, list):
                setattr(node, name, [self.visit(at) if isinstance(at, ast.AST) else at for at in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        if isinstance(node, TESTS):
            node.test = self.truth(node.test)
        if hasattr(node, "cases"):  # of a match statement
            node.subject = self.call("subject", node.subject, node.subject)
            for case in node.cases:
                case.body = self.block(case.body)
        return node

    def visit_match_case(self, node):
        if node.guard is not None:
            node.guard = self.truth(self.visit(node.guard))
        return node

    def truth(self, node):
        """The test of a condition: its parts' truth."""
        if isinstance(node, ast.BoolOp):
            node.values = [self.truth(at) for at in node.values]
            return node
        if isinstance(node, ast.Call) and getattr(node.func, "value", None) in (MARK + "truth", MARK + "invert"):
            return node
        return self.call("truth", node, node)

    def visit_JoinedStr(self, node):
        return node  # its inner nodes have no places of their own before 3.12

    def visit_Name(self, node):
        if node.id == "__name__" and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant("__main__"), node)
        return node

    def visit_Compare(self, node):
        operators = [ast.copy_location(ast.Constant(OPERATORS[type(at)]), node) for at in node.ops]
        parts = [self.visit(at) for at in [node.left] + node.comparators]
        names = ast.copy_location(ast.Tuple(operators, ast.Load()), node)
        return self.call("compare", node, names, *parts)

    def visit_UnaryOp(self, node):
        node.operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self.call("invert", node, self.truth(node.operand))
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        plain = not any(isinstance(at, ast.Starred) for at in node.args)
        is_name = isinstance(node.func, ast.Name)
        asks = name in ASKS if is_name and name not in ("eq", "ne") else name in LOOK_UPS
        if plain and (name.startswith("assert") or asks or name in LIBRARY):
            label = ast.copy_location(ast.Constant(name), node)
            asked = self.call("ask", node, label, node.func, *node.args)
            asked.keywords = node.keywords
            return asked
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Sub):
            return self.call("difference", node, node.left, node.right)
        return node

    def visit_Subscript(self, node):
        self.generic_visit(node)
        kind = type(node.slice).__name__  # before 3.9 an Index holds it
        if isinstance(node.ctx, ast.Load) and kind not in ("Slice", "ExtSlice", "Index", "Constant", "Tuple"):
            node.slice = self.call("key", node.slice, node.slice)
        return node

    def visit_Return(self, node):
        if node.value is not None:
            place = ast.copy_location(ast.Constant(self.at + (BEHIND,)), node)
            value = self.visit(node.value)
            node.value = ast.Call(func=ast.Constant(MARK + "leave"), args=[place, value], keywords=[])
            for part in (node.value, node.value.func):
                ast.copy_location(part, node)
        return node

    def visit_ExceptHandler(self, node):
        place, self.at = self.at, (node.lineno, node.col_offset)
        report = ast.copy_location(ast.Expr(self.call("caught", node)), node)
        self.at = place
        self.generic_visit(node)
        node.body.insert(0, report)
        return node

    def guarded(self, node):
        """The body of a function or a `with` in a try statement that reports what leaves it."""
        self.generic_visit(node)
        first = 1 if is_text(node.body[0]) else 0
        if not node.body[first:]:
            return node
        raised = ast.copy_location(ast.Raise(exc=None, cause=None), node)
        report = ast.copy_location(ast.Expr(self.call("failed", node)), node)
        kind = ast.copy_location(ast.Constant(MARK + "errors"), node)
        handler = ast.copy_location(ast.ExceptHandler(type=kind, name=None, body=[report, raised]), node)
        guarded = ast.copy_location(ast.Try(body=node.body[first:], handlers=[handler], orelse=[], finalbody=[]), node)
        node.body[first:] = [guarded]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_With = visit_AsyncWith = guarded


def bound_once(tree):
    """The names that one statement of the module alone binds, by that statement's id."""
    found, times = {}, {}
    for at in ast.walk(tree):
        names = []
        if isinstance(at, ast.Name) and not isinstance(at.ctx, ast.Load):
            names = [at.id]
        elif isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [at.name]
        elif isinstance(at, (ast.Import, ast.ImportFrom)):
            names = [(part.asname or part.name).split(".")[0] for part in at.names]
        elif isinstance(at, (ast.Global, ast.Nonlocal)):
            names = at.names * 2
        elif isinstance(at, ast.ExceptHandler) or type(at).__name__ in ("MatchAs", "MatchStar"):
            names = [at.name] * 2
        for name in names:
            times[name] = times.get(name, 0) + 1
    for at in tree.body:
        names = set()
        if isinstance(at, ast.Assign):
            names = {target.id for target in at.targets if isinstance(target, ast.Name)}
        elif isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = {at.name}
        elif isinstance(at, ast.ImportFrom):
            names = {part.asname or part.name for part in at.names}
        found[id(at)] = {name for name in names if times.get(name) == 1}
    return found


def is_text(node):
    """A docstring; before 3.8 it is no Constant."""
    return isinstance(node, ast.Expr) and type(node.value).__name__ in ("Str", "Constant")


def is_future(node):
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def rewrite(source, path, names):
    """The code of the script, in which the constants that stand for functions are the functions."""
    tree = ast.parse(source, path)
    tree = ast.fix_missing_locations(Rewrite(bound_once(tree)).visit(tree))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(tree, path, "exec", dont_inherit=True)
    return with_functions(code, names)


def with_functions(code, names):
    constants = []
    for at in code.co_consts:
        if isinstance(at, types.CodeType):
            at = with_functions(at, names)
        elif type(at) is str and at.startswith(MARK):
            at = names[at[len(MARK) :]]
        constants.append(at)
    if hasattr(code, "replace"):
        return code.replace(co_consts=tuple(constants))
    return types.CodeType(
        code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize, code.co_flags, code.co_code,
        tuple(constants), code.co_names, code.co_varnames, code.co_filename, code.co_name, code.co_firstlineno,
        code.co_lnotab, code.co_freevars, code.co_cellvars)  # fmt: skip
