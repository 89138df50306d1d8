"""Decides whether the code that a patch adds is plain: ordinary constructs only, so that the experiments prove
something.

An allow-list over the syntax tree. A construct that the same function, class or module already used is allowed. Each
finding is a construct and its text: (kind, detail).
"""

from __future__ import annotations

import ast
import re
import symtable

from acr.experiments import plain_modules as modules
from acr.experiments import plain_names as names
from acr.experiments import plain_surroundings, plain_texts
from acr.experiments.decoy import FUNCTIONS, name_of
from acr.experiments.plain_modules import may_use, sources
from acr.experiments.site import tail
from acr.experiments.tree_variants import TESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.experiments.tree_variants import Files

    Finding = tuple[str, str]

_CLASS_STATE = {"__qualname__", "__module__", "__class__", "__eq__", "__mro_entries__", "__dict__", "__annotations__"}
_CLASS_NAMES = {"__slots__", "__doc__", "__test__", "__array_priority__", "__version__", "__all__", "__author__"}
_SKIPPED = re.compile(r"if (?:typing\.)?TYPE_CHECKING|if __name__ ==")  # blocks that do not run on import
_REACHES = {"builtin", "hidden name", "name in a string", "file"}
_REACHING = re.compile(
    r"(?:sys|os|builtins|gc|ctypes|_ctypes|cffi|signal|atexit|subprocess|multiprocessing|importlib|unittest|_?pytest|mock|nose"
    r"|faulthandler|_thread|runpy|code|inspect)\b"
)
_WRAPS = {"wraps": 1, "update_wrapper": 2}  # with this number of arguments, the default attributes are copied
_DOTTED = re.compile(r"\w+(?:\.\w+)*")


def find(base: Files, patched: Files, packages: set[str], reads: bool = True) -> list[Finding]:
    """The reasons why a patch's files are not plain code; `packages`: top-level names of the project.

    reads: the patch may read files. It must not if the script is a file, which it could read to recognise a variant.
    """
    out: dict[tuple[str, str], None] = {}
    for path in sorted(patched):
        if base.get(path) == patched[path] or TESTS.search(path):
            continue
        for kind, detail in _of_file(path, base.get(path), patched[path], packages):
            if kind != "reading" or not reads:
                out[kind, f"{detail} in {path}" if detail != path else path] = None
    return list(out)


def reaches(found: Finding) -> bool:
    """Whether a finding affects more than the running code, so that no other check of the patch can be trusted either."""
    kind, detail = found
    return kind in _REACHES or kind in ("import", "narrow module") and bool(_REACHING.match(detail))


def _of_file(path: str, base: bytes | None, patched: bytes | None, packages: set[str]) -> Iterator[Finding]:
    parts = path[:-3].split("/")
    if not path.endswith(".py"):
        if names.OPTIONS.search(path):
            starts = names.pytest_options(base) != names.pytest_options(patched)
        else:
            starts = bool(names.STARTS.search(path))
        is_data = names.DATA.search(path) and not plain_texts.loaded(base, patched)
        if starts and not path.startswith("examples/") or not is_data and not names.DOCUMENTATION.search(path):
            yield "file", path
        return
    if names.DOCUMENTATION.search(path) or patched is None:
        return
    top = [at for at in parts if at not in ("src", "lib")][:1]
    if base is None and (
        not all(at.isidentifier() for at in parts)
        or set(top) & names.LIBRARY
        or not set(top) & packages
        or (names.STARTS.search(path) and parts[-1] != "__main__")
        or "site-packages" in path
    ):
        yield "file", path
    try:
        old, new = ast.parse(base or b""), ast.parse(patched)
    except (SyntaxError, ValueError, RecursionError):
        yield "does not parse", path
        return
    yield from Known(old, new, packages).added(old, new)


class Known:
    """The names that the two versions of the file import and define."""

    def __init__(self, old: ast.Module, new: ast.Module, packages: set[str]) -> None:
        def statements(tree: ast.Module, *kinds: type) -> Iterator[ast.AST]:
            return (x for x in tree.body if isinstance(x, kinds))

        imports = [x for x in ast.walk(old) if isinstance(x, (ast.Import, ast.ImportFrom))]
        self.imported = {a.name.split(".")[0] for x in imports if isinstance(x, ast.Import) for a in x.names}
        self.imported |= {x.module.split(".")[0] for x in imports if isinstance(x, ast.ImportFrom) and x.module}
        self.packages = packages
        self.modules = modules.modules_of(new)
        self.from_names = {a.asname or a.name for x in statements(new, ast.ImportFrom) for a in x.names}
        scopes = (*FUNCTIONS, ast.ClassDef)
        self.origins = modules.origins(new)
        self.from_library = {at for at, whole in self.origins.items() if whole.split(".")[0] in names.LIBRARY}
        self.defined = {x.name for x in statements(new, *scopes)}
        self.bound = modules.bound(new) | {*self.modules, *self.origins}
        self.values = modules.values_of(new.body)
        self.given = plain_surroundings.given(new)
        self.functions = {x.name for x in statements(old, *scopes)}
        self.managers = {x.name for x in statements(new, *FUNCTIONS) if _is_manager(x)}  # type: ignore[attr-defined]

    def added(self, old: ast.Module, new: ast.Module) -> Iterator[Finding]:
        before: dict[str, list[ast.AST]] = {}
        for name, at, kind in units(old):
            before.setdefault(name if kind in ("function", "class", "class statement") else "", []).append(at)
        for name, at, kind in units(new):
            was = before.get(name if kind in ("function", "class", "class statement") else "", [])
            if any(ast.dump(at) == ast.dump(x) for x in was):
                continue
            known = {found for x in was for found in Unit(self, x, kind).findings()}
            yield from (found for found in Unit(self, at, kind).findings() if found not in known)


def _root(node: ast.expr) -> str:
    """The first name of a dotted or indexed expression, or ""."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _called(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _is_manager(node: ast.AST) -> bool:
    """Whether a function is decorated as a context manager."""
    return any("contextmanager" in _called(d) for d in getattr(node, "decorator_list", []))


def units(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, ast.AST, str]]:
    """(name, node, kind) of each function, and of each other statement of the module and its classes."""
    for at in tree.body:
        if isinstance(at, FUNCTIONS):
            yield prefix + name_of(at), at, "function"
        elif isinstance(at, ast.ClassDef):
            head = ast.ClassDef(at.name, at.bases, at.keywords, [], at.decorator_list)
            yield prefix + name_of(at), ast.fix_missing_locations(head), "class"
            yield from units(at, f"{prefix}{at.name}.")
        elif isinstance(at, (ast.If, ast.Try)) and not prefix and (at.orelse or not _SKIPPED.match(ast.unparse(at))):
            yield "", getattr(at, "test", ast.Pass()), "test"
            inner = [at.body, *(x.body for x in getattr(at, "handlers", [])), at.orelse, getattr(at, "finalbody", [])]
            yield from units(ast.Module([x for body in inner for x in body], []))
        else:
            yield prefix + name_of(at), at, "class statement" if prefix else "statement"


class Unit:
    """One function, class head or statement that a patch adds or changes."""

    def __init__(self, known: Known, at: ast.AST, kind: str) -> None:
        self.known, self.at, self.kind = known, at, kind
        self.nodes = list(ast.walk(at))
        self.modules = {**known.modules, **modules.modules_of(at)}
        self.locals = modules.bound(at) - self._outer() if kind == "function" else set()
        self.values = modules.values_of(self.nodes)
        self.imports = modules.origins(at)  # names of the function itself
        self.origins = {**known.origins, **self.imports}
        self.tested: set[int] | None = None
        calls = [x for x in self.nodes if isinstance(x, ast.Call)]
        self.called = {id(x.func) for x in calls}
        self.on_self = {id(x.func) for x in calls if x.args and getattr(x.args[0], "id", "") == "self"}
        self.based = {id(x.value) for x in self.nodes if isinstance(x, ast.Attribute)}
        compared = [x for x in self.nodes if isinstance(x, ast.Compare) and "__module__" not in ast.unparse(x)]
        self.compared = {id(y) for x in compared for y in (x.left, *x.comparators)}
        self.compared |= {id(y) for x in calls if tail(x) in ("getattr", "hasattr") for y in x.args[1:2]}
        self.decorating = {id(d) for x in self.nodes for d in getattr(x, "decorator_list", [])}
        waits = (ast.Yield, ast.YieldFrom, ast.Await)
        blocks = [x for x in self.nodes if isinstance(x, (ast.With, ast.AsyncWith))]
        # Blocks in which other code runs before they end, and blocks that end before any other code runs.
        self.left = [x for x in blocks if any(isinstance(y, waits) for y in ast.walk(x))]
        closed = (x for x in blocks if x not in self.left and "catch_warnings" in ast.unparse(x.items[0]))
        self.guarded = {id(y) for x in closed for y in ast.walk(x)}

    def findings(self) -> Iterator[Finding]:
        rules = {
            ast.Import: self._import, ast.ImportFrom: self._import, ast.Name: self._name, ast.Attribute: self._attribute,
            ast.Call: self._call, ast.FunctionDef: self._function, ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class, ast.Constant: lambda x: plain_texts.constant(x, self.compared),
            ast.arg: self._annotation, ast.AnnAssign: self._annotation, ast.Global: self._rebinds, ast.Nonlocal: self._rebinds,
        }  # fmt: skip
        for x in self.nodes:
            rule = rules.get(type(x))
            if rule:
                yield from rule(x)
        yield from self._replacements()
        yield from self._kept_blocks()
        yield from plain_texts.templates(self)
        if self.kind == "class statement":
            yield from _special_names(self.at)

    def _is_shared(self, at: ast.expr | None, depth: int = 0) -> bool:
        """Whether an expression is data of a library module, or an object that the library keeps."""
        if isinstance(at, ast.Name):
            values = self.values.get(at.id, []) if at.id in self.locals and depth < 9 else []
            return at.id in self.known.from_library - self.locals or any(self._is_shared(x, depth + 1) for x in values)
        if isinstance(at, ast.Call):
            from_library = self.whole(at.func).split(".")[0] in names.LIBRARY
            return from_library and tail(at).startswith(("get", "current", "_"))
        if not isinstance(at, (ast.Attribute, ast.Subscript)):
            return False
        return self.whole(at).split(".")[0] in names.LIBRARY or self._is_shared(at.value, depth)

    def parts(self, at: ast.AST | None, seen: frozenset[str] = frozenset()) -> Iterator[ast.AST]:
        """The nodes of an expression, and of the values of the names in it."""
        for x in ast.walk(at) if at else ():
            yield x
            if isinstance(x, ast.Name) and x.id not in seen:
                values = self.values if x.id in self.locals else self.known.values
                for value in values.get(x.id, []):
                    yield from self.parts(value, seen | {x.id})

    def _kept_blocks(self) -> Iterator[Finding]:
        """Blocks that change the state of the library and stay open while other code runs."""
        holding = set() if _is_manager(self.at) else self.known.managers | names.HOLDS
        for x in self.left:
            held = sorted({tail(at.context_expr) for at in x.items} & holding)
            yield from (("shared state", f"{at} in a block that stays open") for at in held)

    def _outer(self) -> set[str]:
        """Names that some scope of the unit looks up outside it, even if another scope of the unit binds them."""
        tables = [symtable.symtable(ast.unparse(self.at), "patch", "exec")]
        found: set[str] = set()
        while tables:
            table = tables.pop()
            tables += table.get_children()
            inner = table.get_type() == "function"
            used = (x for x in table.get_symbols() if x.is_referenced() and (x.is_global() or not inner))
            found.update(x.get_name() for x in used)
        return found

    def _replacements(self) -> Iterator[Finding]:
        """Assignments that replace a function of another object, or change data that the library keeps."""
        own, functions = {x.name for x in self.nodes if isinstance(x, FUNCTIONS)}, self.known.defined | names.BUILTINS
        for x in self.nodes:
            for at in x.targets if isinstance(x, ast.Assign) else []:
                other = isinstance(at, ast.Attribute) and _root(at) not in own | {"self"}
                named = isinstance(x.value, ast.Name) and x.value.id in own | functions - self.locals
                if other and (named or isinstance(x.value, ast.Lambda)):
                    yield "module or class attribute", ast.unparse(at)
            changed = x.value if isinstance(x, ast.Subscript) and not isinstance(x.ctx, ast.Load) else None
            if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute) and names.CHANGES.match(x.func.attr):
                changed = x.func.value
            if changed and self._is_shared(changed):
                yield "shared state", ast.unparse(x)[:60]

    def _module(self, text: str) -> str:
        """A dotted expression whose first, local name is replaced by its module, or ""."""
        root, dot, rest = text.partition(".")
        known = self.modules.get(root, "") if _DOTTED.fullmatch(text) and root not in self.locals else ""
        return known and known + dot + rest

    def caller(self, at: ast.expr) -> ast.expr:
        """The function that gives an expression its only value; the expression itself if no call does."""
        known = self.values if getattr(at, "id", "") in self.locals else self.known.values
        values = known.get(at.id, []) if isinstance(at, ast.Name) else [at]
        return values[0].func if len(values) == 1 and isinstance(values[0], ast.Call) else at

    def whole(self, at: ast.expr) -> str:
        """The dotted name of what an expression takes from a module, or a special name of the file; otherwise ""."""
        root, dot, rest = ast.unparse(at).partition(".")
        if root in self.locals or not _DOTTED.fullmatch(root + dot + rest):
            return ""
        known = self.origins.get(root, root if root[:2] == "__" and not dot else "")
        return self._module(root + dot + rest) or known and known + dot + rest

    def _import(self, x: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
        is_from = isinstance(x, ast.ImportFrom)
        for name in [x.module or ""] if is_from else [a.name for a in x.names]:
            top = name.split(".")[0]
            own = top in self.known.packages or top in self.known.imported or is_from and x.level
            inner = bool(names.INNER.search(name)) and name not in names.NARROW
            private = name.startswith("_") and name != "__future__"
            if not own and (inner or private or top not in names.MODULES):
                yield "import", name
            if is_from:
                yield from self._import_from(x, name)

    def _import_from(self, x: ast.ImportFrom, module: str) -> Iterator[Finding]:
        top = module.split(".")[0]
        for a in x.names:
            whole = f"{module}.{a.name}"
            if names.HIDDEN.search(a.name) or a.asname in names.BUILTINS | _CLASS_STATE:
                yield "hidden name", a.name
            if x.level or top not in names.MODULES | names.LIBRARY:
                if a.name in names.FOREIGN:
                    yield "narrow module", whole
                continue
            renamed = a.asname and a.name in names.READS | names.WRITES | names.OPENS
            if renamed or a.name != "*" and module != "__future__" and not may_use(module, a.name):
                yield "narrow module", whole
            elif names.SHARED.match(a.name):
                yield "shared state", f"{top}.{a.name}"

    def _name(self, x: ast.Name) -> Iterator[Finding]:
        if not isinstance(x.ctx, ast.Load):
            if x.id in _CLASS_STATE and (self.kind != "function" or x.id != "__name__"):
                yield "special method", x.id
            shadows = x.id in names.BUILTINS and self.kind == "statement" and not x.id.startswith("__")
            replaced = x.id in self.known.functions | self.known.from_names and self.kind == "statement"
            if shadows or x.id in self.modules or replaced:
                yield "name rebound", x.id
            return
        if x.id in self.locals:
            return
        yield from plain_surroundings.of_name(self, x)
        known = names.CALLS | names.ERRORS | self.known.bound | names.OLD
        refused = names.BUILTINS - names.CALLS - names.ERRORS - self.known.defined
        if x.id in refused or x.id[:2] == "__" and x.id not in known:
            yield "builtin", x.id
        elif x.id not in known and "*" not in self.known.bound:
            yield "unknown name", x.id
        if x.id in ("getattr", "setattr", "delattr", "open") and id(x) not in self.called:
            yield "builtin used as a value", x.id
        if x.id in self.modules and id(x) not in self.based:
            yield "module used as a value", x.id

    def _attribute(self, x: ast.Attribute) -> Iterator[Finding]:
        base = ast.unparse(x.value)
        module = self._module(base)
        if x.attr.startswith("__") and x.attr.endswith("__") and not self._is_special(x, base):
            yield "special attribute", f"{base}.{x.attr}"[-60:]
        if module and x.attr in names.OPENS | {"open"} and id(x) not in self.called:
            yield "builtin used as a value", f"{base}.{x.attr}"
        is_wraps = x.attr in _WRAPS and module == "functools" and id(x) not in self.called
        if names.HIDDEN.search(x.attr) or names.INSPECTS.search(f"{base}.{x.attr}") or is_wraps:
            yield "hidden name", x.attr
        top = module.split(".")[0]
        if top in names.MODULES | names.LIBRARY:
            if (module, x.attr) != ("os", "environ") and not may_use(module, x.attr):
                yield "narrow module", f"{base}.{x.attr}"
            elif names.SHARED.match(x.attr) and top in names.MODULES and id(x) not in self.guarded:
                yield "shared state", f"{base}.{x.attr}"
        elif x.attr in names.FOREIGN:
            yield "narrow module", f"{base}.{x.attr}"
        if id(x) not in self.based and module and modules.is_library_module(f"{module}.{x.attr}"):
            yield "module used as a value", f"{base}.{x.attr}"
        yield from plain_surroundings.of_name(self, x)
        if not isinstance(x.ctx, ast.Load):
            yield from self._stored(x)

    def _is_special(self, x: ast.Attribute, base: str) -> bool:
        """Whether plain code may read this special attribute of this value."""
        if x.attr == "__dict__":  # also that of the object whose attribute a descriptor holds
            holds = getattr(self.at, "name", "") in ("__get__", "__set__", "__delete__")
            return base == "self" or holds and base in [at.arg for at in self.at.args.args[1:2]]  # type: ignore[attr-defined]
        inherited = x.attr in names.INHERITED and (base.startswith(("super(", "self")) or id(x) in self.on_self)
        return x.attr in names.ATTRIBUTES or x.attr not in names.SPECIAL or inherited

    def _stored(self, x: ast.Attribute) -> Iterator[Finding]:
        outside = set(self.modules) | self.known.imported | self.known.from_names | self.known.defined | names.BUILTINS
        outside = outside - self.locals | {*self.imports}
        shared = outside & {*sources(x.value, self.values)} or x.attr in _CLASS_STATE or self._is_shared(x.value)
        made = isinstance(x.value, ast.Call) or ".__class__" in ast.unparse(x.value)
        if (shared or made) and x.attr != "__doc__":
            yield "module or class attribute", ast.unparse(x)

    def _makes_class(self, func: ast.expr) -> bool:
        """Whether a function is `type`, under any name, or the class of a class."""
        for at in [func, *self.values.get(getattr(func, "id", ""), [])]:
            is_asked = isinstance(at, ast.Call) and ast.unparse(at.func) == "type" and at.args
            of = ast.unparse(at.args[0]) if is_asked else ""  # type: ignore[attr-defined]
            made = (
                of.isidentifier() and of not in self.locals - {"cls"} or of[:5] == "type(" or of[-10:] == ".__class__"
            )
            if made or not of and ast.unparse(at) != "type" and "type" in {*sources(at, self.values)} - self.locals:
                return True
        return False

    def _call(self, x: ast.Call) -> Iterator[Finding]:
        name = ast.unparse(x.func)
        last = name.split(".")[-1]
        if name in ("getattr", "setattr", "delattr", "hasattr") and len(x.args) > 1:
            text = x.args[1].value if isinstance(x.args[1], ast.Constant) else None
            if text is None and name != "hasattr":
                yield "computed attribute", ast.unparse(x)[:60]
            elif text is not None:
                context = ast.Load() if name in ("getattr", "hasattr") else ast.Store()
                yield from self._attribute(ast.Attribute(x.args[0], str(text), context))
                if name in ("setattr", "delattr") and str(text).startswith("__"):
                    yield "special attribute", str(text)
        shaped = len(x.args) == 3 and isinstance(x.args[1], ast.Tuple) and isinstance(x.args[2], ast.Dict)
        if name == "type" and len(x.args) != 1 or self._makes_class(x.func) or shaped:
            yield "made class", ast.unparse(x)[:60]
        yield from plain_surroundings.of_call(self, x)
        if last in names.READS:
            yield "reading", ast.unparse(x)[:60]
        hidden = [k.arg for k in x.keywords if k.arg in ("eval_str", "stack_info")]
        hidden += [k.arg for k in x.keywords if k.arg == "record" and tail(x) == "catch_warnings"]
        yield from (("hidden name", at) for at in hidden)
        given = [v for at in x.args for v in [at, *self.values.get(getattr(at, "id", ""), [])]]
        if any(isinstance(v, ast.Call) and tail(v) == "getcontext" for v in given):
            yield "shared state", ast.unparse(x)[:60]
        starred = any(isinstance(at, ast.Starred) for at in x.args)
        if len(x.args) > _WRAPS.get(last, 99) or last in _WRAPS and starred or "updated" in [k.arg for k in x.keywords]:
            yield "decorator", ast.unparse(x)[:60]  # `updated` lists what functools.wraps changes in the wrapper
        if last == "import_module":
            yield "import", ast.unparse(x)[:60]
        if isinstance(x.func, ast.Attribute) and x.func.attr == "register" and id(x) not in self.decorating:
            if _root(x.func) in self.known.defined | self.known.from_names | {*self.imports, *self.modules}:
                yield "shared state", ast.unparse(x)[:60]
        is_second = name == last or last in names.OPENS or bool(self._module(name))
        writes = last in names.OPENS | {"open"} and self._writes(x, is_second)
        has_paths = self.known.bound & {"os", "pathlib", "tempfile", "shutil", "Path", "PurePath"}
        # str.replace takes two arguments
        is_path = last == "replace" and len(x.args) == 1 and not x.keywords and has_paths
        if last in names.WRITES and isinstance(x.func, ast.Attribute) | last[0].isupper() or is_path or writes:
            yield "writing", ast.unparse(x)[:60]

    def _writes(self, x: ast.Call, is_second: bool) -> bool:
        """Whether a file may be opened to write; is_second: the mode is the second argument, after the file name."""
        modes = [k.value for k in x.keywords if k.arg == "mode"] + x.args[is_second:][:1]
        inner = [y for at in modes for y in self.parts(at)]
        computed = any(isinstance(y, (ast.Call, ast.Attribute, ast.Subscript)) for y in inner)
        return computed or any(set("wax+") & set(str(y.value)) for y in inner if isinstance(y, ast.Constant))

    def _function(self, x: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
        special = re.fullmatch(r"__(\w+)__", x.name)
        if special and special[1] not in names.METHODS:
            yield "special method", x.name
        yield from self._annotation(x)

    def _class(self, x: ast.ClassDef) -> Iterator[Finding]:
        for at in x.bases:
            name = ast.unparse(at).split(".")[-1].split("[")[0]
            plain = {"object", "Exception", "Warning", "dict", "list", "set"} | {
                n for n in names.ERRORS if n[-5:] in ("Error", "rning")
            }
            if name in names.BUILTINS - plain:
                yield "base class", name
        if any(k.arg == "metaclass" and ast.unparse(k.value) not in ("ABCMeta", "abc.ABCMeta") for k in x.keywords):
            yield "metaclass", x.name
        yield from (("decorator", _called(at)) for at in x.decorator_list if _called(at).split(".")[-1] == "wraps")
        if self.kind != "class":
            for at in x.body:
                yield from _special_names(at)

    @staticmethod
    def _annotation(x: ast.arg | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
        """Finds calls in annotations that are strings, because the library evaluates them."""
        at = x.returns if isinstance(x, FUNCTIONS) else x.annotation  # type: ignore[union-attr]
        inner = ast.walk(at) if at else ()
        texts = [at.value for at in inner if isinstance(at, ast.Constant) and isinstance(at.value, str)]
        yield from (("name in a string", at[:30]) for at in texts if "(" in at)

    def _rebinds(self, x: ast.Global | ast.Nonlocal) -> Iterator[Finding]:
        outside = self.known.functions | set(self.modules) | names.BUILTINS | self.known.from_names
        yield from (("name rebound", at) for at in x.names if at in outside)


def _special_names(at: ast.AST) -> Iterator[Finding]:
    targets = at.targets if isinstance(at, ast.Assign) else [at.target] if isinstance(at, ast.AnnAssign) else []
    for target in targets:
        text = ast.unparse(target)
        alias = getattr(at.value, "id", "")[2:-2] in names.METHODS and text[2:-2] in names.ALIASES
        if re.fullmatch(r"__\w+__", text) and text not in _CLASS_NAMES and not alias:
            yield "special method", text
