"""Decides whether the code that a patch adds is plain: ordinary constructs only, so that the experiments prove
something.

An allow-list over the syntax tree. A construct that the same function, class or module already used is allowed. Each
finding is a construct and its text: (kind, detail).
"""

from __future__ import annotations

import ast
import importlib.util
import re
import symtable

from acr.experiments import plain_names as names
from acr.experiments.decoy import FUNCTIONS, is_text, name_of
from acr.experiments.site import tail
from acr.experiments.tree_variants import TESTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.experiments.tree_variants import Files

    Finding = tuple[str, str]

_CLASS_STATE = {"__qualname__", "__module__", "__class__", "__eq__", "__mro_entries__", "__dict__", "__annotations__"}
_CLASS_NAMES = {"__slots__", "__doc__", "__test__", "__array_priority__", "__version__", "__all__", "__author__"}
_REACHES = {"builtin", "hidden name", "name in a text", "file"}
_REACHING = re.compile(
    r"(?:sys|os|builtins|gc|ctypes|_ctypes|cffi|signal|atexit|subprocess|multiprocessing|importlib|unittest|_?pytest|mock|nose"
    r"|faulthandler|_thread|runpy|code|inspect)\b"
)
_WRAPS = {"wraps": 1, "update_wrapper": 2}  # with this number of arguments, the default attributes are copied
_DOTTED = re.compile(r"\w+(?:\.\w+)*")
_PROCESS = re.compile(r"(?:^|/)proc(?:/|$)|/dev/(?:fd|std)")  # files through which a process can inspect itself


def find(base: Files, patched: Files, packages: set[str], reads: bool = True) -> list[Finding]:
    """The reasons why a patch's files are not plain code; `packages`: top-level names of the project.

    reads: the patch may read files. It may not if the script is a file, because it could then recognise variants of it.
    """
    out: dict[tuple[str, str], None] = {}
    for path in sorted(patched):
        if base.get(path) == patched[path] or TESTS.search(path):
            continue
        for kind, detail in _of_file(path, base.get(path), patched[path], packages):
            if kind == "reading" and reads:
                continue
            out[kind, f"{detail} in {path}" if detail != path else path] = None
    return list(out)


def reaches(found: Finding) -> bool:
    """Whether a finding affects more than the running code, so that no other check of the patch can be trusted either."""
    kind, detail = found
    return kind in _REACHES or kind in ("import", "narrow module") and bool(_REACHING.match(detail))


def _of_file(path: str, base: bytes | None, patched: bytes | None, packages: set[str]) -> Iterator[Finding]:
    parts = path[:-3].split("/")
    if not path.endswith(".py"):
        options = [names.pytest_options(path, text) for text in (base, patched)]
        starts = names.STARTS.search(path) and not path.startswith("examples/") or options[0] != options[1]
        if starts or not names.DATA.search(path) and not names.DOCUMENTATION.search(path):
            yield "file", path
        return
    if names.DOCUMENTATION.search(path) or patched is None:
        return
    top = [at for at in parts if at not in ("src", "lib")][:1]
    if base is None and (
        not all(at.isidentifier() for at in parts)
        or set(top) & names.LIBRARY
        or not set(top) & packages
        or names.STARTS.search(path)
        and parts[-1] != "__main__"
        or "site-packages" in path
    ):
        yield "file", path
    try:
        old, new = ast.parse(base or b""), ast.parse(patched)
    except (SyntaxError, ValueError, RecursionError):
        yield "does not parse", path
        return
    is_main = parts[-1] == "__main__"
    found = Known(old, new, packages).added(old, new)
    yield from (at for at in found if not is_main or at[0] != "statement of a module")


class Known:
    """The names that the two versions of the file import and define."""

    def __init__(self, old: ast.Module, new: ast.Module, packages: set[str]) -> None:
        def statements(tree: ast.Module, *kinds: type) -> Iterator[ast.AST]:
            return (x for x in tree.body if isinstance(x, kinds))

        imports = [x for x in ast.walk(old) if isinstance(x, (ast.Import, ast.ImportFrom))]
        self.imported = {a.name.split(".")[0] for x in imports if isinstance(x, ast.Import) for a in x.names}
        self.imported |= {x.module.split(".")[0] for x in imports if isinstance(x, ast.ImportFrom) and x.module}
        self.packages = packages
        self.modules = modules_of(new)
        self.from_names = {a.asname or a.name for x in statements(new, ast.ImportFrom) for a in x.names}
        scopes = (*FUNCTIONS, ast.ClassDef)
        self.from_library = {
            a.asname or a.name
            for x in ast.walk(new)
            if isinstance(x, ast.ImportFrom) and not x.level and (x.module or "").split(".")[0] in names.LIBRARY
            for a in x.names
        }
        self.defined = {x.name for x in statements(new, *scopes)}
        self.functions = {x.name for x in statements(old, *scopes)}
        self.managers = {x.name for x in statements(new, *FUNCTIONS) if _is_manager(x)}  # type: ignore[attr-defined]
        self.decorators = {_called(d) for x in ast.walk(old) for d in getattr(x, "decorator_list", [])}
        calls = [x.value for x in statements(old, ast.Expr) if isinstance(x.value, ast.Call)]
        self.statements = {ast.unparse(x.func) for x in calls}
        tables = (ast.Dict, ast.List, ast.Set, ast.Call)
        assigned = [x for x in statements(old, ast.Assign) if isinstance(x.value, tables)]
        self.tables = {ast.unparse(t) for x in assigned for t in x.targets}

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


def modules_of(tree: ast.AST) -> dict[str, str]:
    """Local name -> module, for `import` statements."""
    found = {}
    for x in ast.walk(tree):
        if isinstance(x, ast.Import):
            found.update(
                (a.asname or a.name.split(".")[0], a.name if a.asname else a.name.split(".")[0]) for a in x.names
            )
        elif isinstance(x, ast.ImportFrom) and not x.level:
            inner = ((a.asname or a.name, f"{x.module}.{a.name}") for a in x.names)
            found.update((name, at) for name, at in inner if _is_library_module(at))
    return found


def _is_library_module(name: str) -> bool:
    """Whether a dotted name is a module inside a package of the standard library."""
    try:
        return name.split(".")[0] in names.LIBRARY and importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _root(node: ast.expr) -> str:
    """The first name of a dotted or indexed expression, or ""."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_inner(name: str, module: str) -> bool:
    """Whether a name of a module is another library module, which this module imports for its own use."""
    other = name.strip("_") in names.LIBRARY or name == "bltns"
    return (
        other
        and name not in names.NARROW.get(module, ())
        and name not in ("path", "abc", "array", *module.split("."))
        and not _is_library_module(f"{module}.{name}")
    )


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
        elif isinstance(at, (ast.If, ast.Try)) and not prefix:
            yield ast.unparse(at), at, "block"
        else:
            yield prefix + name_of(at), at, "class statement" if prefix else "statement"


class Unit:
    """One function, class head or statement that a patch adds or changes."""

    def __init__(self, known: Known, at: ast.AST, kind: str) -> None:
        self.known, self.at, self.kind = known, at, kind
        self.nodes = list(ast.walk(at))
        self.modules = {**known.modules, **modules_of(at)}
        self.locals = {x.id for x in self.nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        self.locals |= {x.arg for x in self.nodes if isinstance(x, ast.arg)}
        self.imports = {
            a.asname or a.name for x in self.nodes if isinstance(x, ast.ImportFrom) for a in x.names
        }  # names of the function itself
        self.called = {id(x.func) for x in self.nodes if isinstance(x, ast.Call)}
        self.based = {id(x.value) for x in self.nodes if isinstance(x, ast.Attribute)}
        compared = [x for x in self.nodes if isinstance(x, ast.Compare) and "__module__" not in ast.unparse(x)]
        self.compared = {id(y) for x in compared for y in (x.left, *x.comparators)}
        asks = [x for x in self.nodes if isinstance(x, ast.Call) and tail(x) in ("getattr", "hasattr")]
        self.compared |= {id(y) for x in asks for y in x.args[1:2]}
        self.decorating = {id(d) for x in self.nodes for d in getattr(x, "decorator_list", [])}
        waits = (ast.Yield, ast.YieldFrom, ast.Await)
        blocks = [x for x in self.nodes if isinstance(x, (ast.With, ast.AsyncWith))]
        # Blocks in which other code runs before they end, and blocks that end before any other code runs.
        self.left = [x for x in blocks if any(isinstance(y, waits) for y in ast.walk(x))]
        closed = [x for x in blocks if x not in self.left and "catch_warnings" in ast.unparse(x.items[0])]
        self.guarded = {id(y) for x in closed for y in ast.walk(x)}
        # Local names of objects that a library function returns and that others may share; classes return new objects.
        self.shared = {
            t.id
            for x in self.nodes
            for t in (x.targets if isinstance(x, ast.Assign) else [getattr(x, "target", None)])
            if isinstance(t, ast.Name) and self._gives_shared(getattr(x, "value", None))
        }

    def findings(self) -> Iterator[Finding]:
        rules = {
            ast.Import: self._import, ast.ImportFrom: self._import, ast.Name: self._name, ast.Attribute: self._attribute,
            ast.Call: self._call, ast.FunctionDef: self._function, ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class, ast.ExceptHandler: self._handler, ast.Constant: self._constant,
            ast.arg: self._annotation, ast.AnnAssign: self._annotation, ast.Global: self._rebinds, ast.Nonlocal: self._rebinds,
        }  # fmt: skip
        for x in self.nodes:
            rule = rules.get(type(x))
            if rule:
                yield from rule(x)
        yield from self._outer_names()
        yield from self._replacements()
        yield from self._kept_blocks()
        yield from self._parts_of_names()
        if self.kind in ("statement", "class statement", "block"):
            yield from self._statement()

    def _gives_shared(self, value: ast.expr | None) -> bool:
        """Whether an expression is an object that the standard library keeps, or data of one of its modules."""
        if isinstance(value, ast.Call):
            text, name = ast.unparse(value.func), tail(value)
            root = self.modules.get(text.partition(".")[0], "").split(".")[0]
            of_library = root in names.LIBRARY and "." in text or text in self.known.from_library
            return of_library and name[:1].islower() and name.startswith(("get", "current", "_"))
        return isinstance(value, ast.Attribute) and self._is_of_library(value)

    def _kept_blocks(self) -> Iterator[Finding]:
        """Blocks that change the state of the library and stay open while other code runs."""
        holding = set() if _is_manager(self.at) else self.known.managers | names.HOLDS
        for x in self.left:
            held = {tail(at.context_expr) for at in x.items} & holding
            yield from (("shared state", f"{at} in a block that is left open") for at in sorted(held))
        entered = {at.optional_vars.id for x in self.nodes if isinstance(x, (ast.With, ast.AsyncWith)) for at in x.items
                   if isinstance(at.optional_vars, ast.Name)}  # fmt: skip
        for x in self.nodes:
            name = x.attr if isinstance(x, ast.Attribute) else ""
            if name in ("__enter__", "__aenter__") and not ast.unparse(x.value).startswith("super("):
                yield "shared state", ast.unparse(x)
            elif name in ("enter_context", "enter_async_context") and _root(x) not in entered:
                yield "shared state", ast.unparse(x)

    def _outer_names(self) -> Iterator[Finding]:
        """Names that refer to the enclosing scope although another scope of the unit also binds them."""
        try:
            tables = [] if self.kind == "class" else [symtable.symtable(ast.unparse(self.at), "patch", "exec")]
        except SyntaxError:
            return
        while tables:
            table = tables.pop()
            tables += table.get_children()
            inner = table.get_type() == "function"
            for name in (
                x.get_name() for x in table.get_symbols() if x.is_referenced() and (x.is_global() or not inner)
            ):
                if name in names.BUILTINS - names.CALLS - names.ERRORS - self.known.defined:
                    yield "builtin", name
                elif not inner and name in self.locals and self.modules.get(name, "").split(".")[0] in names.LIBRARY:
                    yield "module as a value", name

    def _parts_of_names(self) -> Iterator[Finding]:
        """Names of files through which a process can inspect itself, joined from several strings."""
        docs = {id(x.value) for x in self.nodes if isinstance(x, ast.Expr)}
        texts = [x for x in self.nodes if isinstance(x, ast.Constant) and id(x) not in docs]
        texts.sort(key=lambda x: (getattr(x, "lineno", 0), getattr(x, "col_offset", 0)))
        parts = [x.value.decode("latin-1") if isinstance(x.value, bytes) else x.value for x in texts]
        parts = [x for x in parts if isinstance(x, str) and len(x) < 200]
        whole = {*parts, *(x[::-1] for x in parts), "".join(parts), "/".join(parts)}
        split = any(
            any(x.endswith("/proc"[:at]) for x in parts) and any(re.match("/proc"[at:] + "(?:/|$)", x) for x in parts)
            for at in (2, 3, 4)
        )
        if split or any(map(_PROCESS.search, whole)):
            yield "name in a text", "/proc or /dev, joined"
        is_format = any(getattr(x, "attr", "") in ("format", "format_map") for x in self.nodes)
        if is_format and any(names.HIDDEN.search(at) or at[:2] == "__" for at in names.fields("".join(parts))):
            yield "name in a text", "a format of parts"

    def _replacements(self) -> Iterator[Finding]:
        """Assignments that replace a function of another object, or change data that the library keeps."""
        own = {x.name for x in self.nodes if isinstance(x, FUNCTIONS)}
        for x in self.nodes:
            targets = x.targets if isinstance(x, ast.Assign) else []
            for at in targets:
                if (
                    isinstance(at, ast.Attribute)
                    and _root(at) not in own | {"self"}
                    and self._is_function(x.value, own)
                ):
                    yield "attribute of a module or class", ast.unparse(at)
            stored = isinstance(x, ast.Subscript) and not isinstance(x.ctx, ast.Load)
            at = x.func if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute) else None
            shared = stored and self._is_of_library(x.value)
            if at and (at.attr in names.MUTATES or names.CHANGES.match(at.attr)):
                data = at.attr in names.MUTATES and self._is_of_library(at.value)
                shared = data or _root(at) in self.shared or self._gives_shared(at.value)
            if shared:
                yield "shared state", ast.unparse(x)[:60]

    def _is_function(self, value: ast.expr, own: set[str]) -> bool:
        named = isinstance(value, ast.Name) and value.id in own | self.known.defined | names.BUILTINS
        return isinstance(value, ast.Lambda) or named and value.id not in self.locals

    def _is_of_library(self, value: ast.expr) -> bool:
        """Whether a dotted expression is data of a module of the standard library."""
        text = ast.unparse(value)
        module = self._module(text)
        if isinstance(value, ast.Name):
            return value.id in self.known.from_library - self.locals | self.shared
        # another rule covers os.environ
        return module.split(".")[0] in names.LIBRARY and "." in text and module != "os.environ"

    def _module(self, text: str) -> str:
        """A dotted expression whose first, local name is replaced by its module, or ""."""
        root, dot, rest = text.partition(".")
        known = self.modules.get(root, "") if _DOTTED.fullmatch(text) and root not in self.locals else ""
        return known and known + dot + rest

    def _import(self, x: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
        is_from = isinstance(x, ast.ImportFrom)
        for name in [x.module or ""] if is_from else [a.name for a in x.names]:
            top = name.split(".")[0]
            own = top in self.known.packages or top in self.known.imported or is_from and x.level
            inner = bool(names.INNER.search(name)) and name not in names.NARROW
            private = name.startswith("_") and name != "__future__"
            if not own and (inner or private or top not in names.MODULES):
                yield "import", name
            if is_from and name in names.NARROW and not x.level:
                bad = [a.name for a in x.names if a.name not in names.NARROW[name]]
                yield from (("narrow module", f"{name}.{at}") for at in bad)
            elif is_from and top in names.MODULES and not x.level:
                yield from (("shared state", f"{top}.{a.name}") for a in x.names if names.SHARED.match(a.name))
            if is_from and not x.level:
                bad = [a.name for a in x.names if name == "platform" or (name, a.name) in names.MACHINE]
                yield from (("branch by machine", f"{name}.{at}") for at in bad)
            if is_from and top in names.LIBRARY and not x.level:
                bad = [a.name for a in x.names if _is_inner(a.name, name)]
                bad += [a.name for a in x.names if a.asname and a.name in names.READS | names.WRITES | names.OPENS]
                yield from (("narrow module", f"{name}.{at}") for at in bad)
        if is_from:
            hidden = [
                a.name for a in x.names if names.HIDDEN.search(a.name) or a.asname in names.BUILTINS | _CLASS_STATE
            ]
            yield from (("hidden name", at) for at in hidden)

    def _name(self, x: ast.Name) -> Iterator[Finding]:
        if not isinstance(x.ctx, ast.Load):
            if x.id in _CLASS_STATE and (self.kind != "function" or x.id != "__name__"):
                yield "special method", x.id
            shadows = x.id in names.BUILTINS and self.kind in ("statement", "block") and not x.id.startswith("__")
            replaced = x.id in self.known.functions | self.known.from_names and self.kind in ("statement", "block")
            if shadows or x.id in self.modules or replaced:
                yield "name rebound", x.id
            return
        if x.id in self.locals:
            return
        if x.id in names.BUILTINS and x.id not in names.CALLS | names.ERRORS and x.id not in self.known.defined:
            yield "builtin", x.id
        if x.id in ("getattr", "setattr", "delattr", "open") and id(x) not in self.called:
            yield "builtin as a value", x.id
        module = self.modules.get(x.id, "").split(".")[0]
        if module and id(x) not in self.based and (module in names.MODULES or module in names.LIBRARY):
            yield "module as a value", x.id

    def _attribute(self, x: ast.Attribute) -> Iterator[Finding]:
        base = ast.unparse(x.value)
        module = self._module(base)
        if (
            x.attr.startswith("__")
            and x.attr.endswith("__")
            and x.attr not in names.ATTRIBUTES
            and (base, x.attr) != ("self", "__dict__")
        ):
            yield "special attribute", f"{base}.{x.attr}"[-60:]
        if module and x.attr in names.OPENS | {"open"} and id(x) not in self.called:
            yield "builtin as a value", f"{base}.{x.attr}"
        if names.HIDDEN.search(x.attr) or x.attr in _WRAPS and module == "functools" and id(x) not in self.called:
            yield "hidden name", x.attr
        if module in names.NARROW and x.attr not in names.NARROW[module] and (module, x.attr) != ("os", "environ"):
            yield "narrow module", f"{module}.{x.attr}"
        elif module.split(".")[0] in names.MODULES:
            private = (
                x.attr.startswith("_") and not x.attr.endswith("__") and (base in self.modules or "." not in module)
            )
            if private or _is_inner(x.attr, module):
                yield "narrow module", f"{base}.{x.attr}"
            if names.SHARED.match(x.attr) and id(x) in self.called and id(x) not in self.guarded:
                yield "shared state", f"{base}.{x.attr}"
        elif module.split(".")[0] in names.LIBRARY and _is_inner(x.attr, module):
            yield "narrow module", f"{base}.{x.attr}"
        if f"{module}.{x.attr}" in names.KEPT and isinstance(x.ctx, ast.Load):
            yield "shared state", f"{base}.{x.attr}"
        if id(x) not in self.based and module and _is_library_module(f"{module}.{x.attr}"):
            yield "module as a value", f"{base}.{x.attr}"
        if (module, x.attr) == ("os", "environ"):
            yield from self._environment(x)
        if self.kind == "function" and (module == "platform" or (module, x.attr) in names.MACHINE):
            yield "branch by machine", f"{base}.{x.attr}"  # acr-host never runs the branches for other machines
        if not isinstance(x.ctx, ast.Load):
            yield from self._stored(x, base)

    def _environment(self, x: ast.Attribute) -> Iterator[Finding]:
        reads = (
            isinstance(at, ast.Subscript) and at.value is x and isinstance(at.ctx, ast.Load)
            or isinstance(at, ast.Attribute) and at.value is x and at.attr in ("get", "copy", "items", "keys")
            or isinstance(at, ast.Compare) and x in at.comparators
            for at in self.nodes
        )  # fmt: skip
        if not any(reads):
            yield "writing", "os.environ"

    def _stored(self, x: ast.Attribute, base: str) -> Iterator[Finding]:
        outside = set(self.modules) | self.known.imported | self.known.from_names | self.known.defined
        outside = outside - self.locals | self.imports
        aliases = {
            t.id
            for at in self.nodes
            if isinstance(at, ast.Assign)
            and isinstance(at.value, (ast.Name, ast.Attribute))
            and _root(at.value) in outside
            for t in at.targets
            if isinstance(t, ast.Name)
        }
        shared = _root(x.value) in outside | aliases | self.shared or x.attr in _CLASS_STATE
        if (shared or isinstance(x.value, ast.Call) or ".__class__" in base) and x.attr != "__doc__":
            yield "attribute of a module or class", ast.unparse(x)

    def _call(self, x: ast.Call) -> Iterator[Finding]:
        name = ast.unparse(x.func)
        if name in ("getattr", "setattr", "delattr") and len(x.args) > 1:
            text = x.args[1].value if isinstance(x.args[1], ast.Constant) else None
            if text is None:
                yield "computed attribute", ast.unparse(x)[:60]
            elif names.HIDDEN.search(str(text)) or str(text).startswith("__") and text not in names.ATTRIBUTES:
                yield "special attribute", str(text)
            elif name != "getattr" and str(text).startswith("__"):
                yield "special attribute", str(text)
            if name != "getattr" and not (isinstance(x.args[0], ast.Name) and x.args[0].id == "self"):
                yield "attribute of a module or class", ast.unparse(x)[:60]
        if name == "type" and len(x.args) != 1:
            yield "made class", ast.unparse(x)[:60]
        if name.split(".")[-1] in names.READS:
            yield "reading", ast.unparse(x)[:60]
        if any(k.arg == "eval_str" for k in x.keywords):
            yield "builtin", "eval_str"
        if any(k.arg == "updated" for k in x.keywords):
            yield "decorator", ast.unparse(x)[:60]  # `updated` lists what functools.wraps changes in the wrapper
        if (
            len(x.args) > _WRAPS.get(tail(x), 99)
            or tail(x) in _WRAPS
            and any(isinstance(at, ast.Starred) for at in x.args)
        ):
            yield "decorator", ast.unparse(x)[:60]
        if name.split(".")[-1] == "import_module":
            yield "import", ast.unparse(x)[:60]
        if isinstance(x.func, ast.Attribute) and x.func.attr == "register" and id(x) not in self.decorating:
            if _root(x.func) in self.known.defined | self.known.from_names | self.imports | set(self.modules):
                yield "shared state", ast.unparse(x)[:60]
        last = name.split(".")[-1]
        if last == "open" or last in names.OPENS:
            yield from self._open(x, name == last or last in names.OPENS or bool(self._module(name)))
        is_path = last == "replace" and len(x.args) == 1 and not x.keywords  # str.replace takes two arguments
        if last in names.WRITES and isinstance(x.func, ast.Attribute) | last[0].isupper() or is_path:
            yield "writing", ast.unparse(x)[:60]

    @staticmethod
    def _open(x: ast.Call, is_second: bool) -> Iterator[Finding]:
        """is_second: the mode is the second argument, after the file name."""
        modes = [k.value for k in x.keywords if k.arg == "mode"] + x.args[is_second:][:1]
        for mode in modes:
            parts = [mode.body, mode.orelse] if isinstance(mode, ast.IfExp) else [mode]
            parts = [at for at in parts if not names.reads_only(at)]
            texts = [at.value for at in parts if isinstance(at, ast.Constant)]
            if len(texts) < len(parts) or any(isinstance(t, str) and set(t) & set("wax+") for t in texts):
                yield "writing", ast.unparse(x)[:60]

    def _function(self, x: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
        special = re.fullmatch(r"__(\w+)__", x.name)
        if special and special[1] not in names.METHODS:
            yield "special method", x.name
        yield from self._annotation(x)
        for at in x.decorator_list:
            name = _called(at)
            known = name in names.DECORATORS or name in self.known.decorators or self._module(name) == "typing.overload"
            if not known and not re.fullmatch(r"[\w.]+\.(setter|getter|deleter|register)", name):
                yield "decorator", name

    def _class(self, x: ast.ClassDef) -> Iterator[Finding]:
        for at in x.bases:
            name = ast.unparse(at).split(".")[-1].split("[")[0]
            plain = name in names.BASES or name.endswith(("Error", "Warning")) or name not in names.BUILTINS
            if not plain and name not in ("dict", "list", "set"):
                yield "base class", name
        if any(k.arg == "metaclass" and ast.unparse(k.value) not in ("ABCMeta", "abc.ABCMeta") for k in x.keywords):
            yield "metaclass", x.name
        shaped = [_called(at) for at in x.decorator_list]
        yield from (("decorator", at) for at in shaped if at.split(".")[-1] == "wraps")
        if self.kind != "class":
            for at in x.body:
                yield from _special_names(at)

    @staticmethod
    def _handler(x: ast.ExceptHandler) -> Iterator[Finding]:
        if x.type is None or ast.unparse(x.type) in ("BaseException", "AssertionError"):
            if not any(isinstance(at, ast.Raise) and at.exc is None for at in ast.walk(x)):
                yield "catches all", "except" if x.type is None else f"except {ast.unparse(x.type)}"

    def _constant(self, x: ast.Constant) -> Iterator[Finding]:
        if isinstance(x.value, str):
            inner = names.fields(x.value)
            special = re.fullmatch(r"__(\w+)__", x.value)
            starts = (
                x.value == "__main__"
                and id(x) not in self.compared
                or x.value == "eval_str"
                or re.match(r"PYTHON[A-Z]+$|/proc\b|/dev/(?:fd|std)", x.value)
            )
            starts = starts or special and special[1] in names.DECIDING and id(x) not in self.compared
            if starts or any(names.HIDDEN.search(at) or at[:2] == "__" and at not in names.ATTRIBUTES for at in inner):
                yield "name in a text", x.value[:30]

    @staticmethod
    def _annotation(x: ast.arg | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
        """Finds calls in annotations that are strings, because the library evaluates them."""
        at = x.returns if isinstance(x, FUNCTIONS) else x.annotation  # type: ignore[union-attr]
        inner = ast.walk(at) if at else ()
        texts = [at.value for at in inner if isinstance(at, ast.Constant) and isinstance(at.value, str)]
        yield from (("name in a text", at[:30]) for at in texts if "(" in at)

    def _rebinds(self, x: ast.Global | ast.Nonlocal) -> Iterator[Finding]:
        outside = self.known.functions | set(self.modules) | names.BUILTINS | self.known.from_names
        yield from (("name rebound", at) for at in x.names if at in outside)

    def _statement(self) -> Iterator[Finding]:
        at = self.at
        if self.kind == "class statement":
            yield from _special_names(at)
        elif self.kind == "block":
            yield from self._block()
        elif not isinstance(at, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign)) and not is_text(
            at
        ):
            head = _called(at.value) if isinstance(at, ast.Expr) else type(at).__name__
            if head not in self.known.statements:
                yield "statement of a module", head
        if isinstance(at, (ast.Assign, ast.AugAssign)):
            for target in at.targets if isinstance(at, ast.Assign) else [at.target]:
                text = ast.unparse(target)
                table = text.split("[")[0].split(".")[0] in self.known.tables
                if not isinstance(target, (ast.Name, ast.Tuple)) and not text.endswith(".__doc__") and not table:
                    yield "statement of a module", text[:30]

    def _block(self) -> Iterator[Finding]:
        text = ast.unparse(self.at)
        if text.startswith(("if TYPE_CHECKING", "if typing.TYPE_CHECKING", "if __name__ ==")):
            return
        plain = (ast.Import, ast.ImportFrom, ast.Assign, ast.Pass, *FUNCTIONS, ast.If, ast.Try)
        inside = {id(y) for x in self.nodes if isinstance(x, FUNCTIONS) for y in ast.walk(x)}
        for x in self.nodes:
            if isinstance(x, ast.stmt) and not isinstance(x, plain) and id(x) not in inside:
                yield "statement of a module", type(x).__name__


def _special_names(at: ast.AST) -> Iterator[Finding]:
    targets = at.targets if isinstance(at, ast.Assign) else [at.target] if isinstance(at, ast.AnnAssign) else []
    for target in targets:
        text = ast.unparse(target)
        if re.fullmatch(r"__\w+__", text) and text not in _CLASS_NAMES:
            yield "special method", text
