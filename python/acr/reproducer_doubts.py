"""What a person should look at in a reproducer before trusting its exit code.

A script that shows an issue runs the project and asserts. One that also decides by itself how it ends, prints
tracebacks, swallows errors, reads the project's source, or goes by clock or chance may be red and green for reasons
of its own. Nothing here is a proof: a script that means to deceive finds another way, and the reviewer still reads it.
"""

from __future__ import annotations

import ast
import sys
import warnings

from acr.packing import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DOUBTS = 8
MAX_NAME = 60  # characters of the script's own text that a doubt repeats

_CALLS = {
    "calls {}": {"os._exit", "os.abort", "os.kill", "os.fork", "sys.exit", "exit", "quit", "_exit"},
    "runs text as code by {}": {"exec", "eval", "compile", "__import__"},
    "asks the clock by {}": {
        "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter",
        "time.perf_counter_ns", "time.process_time", "datetime.now", "datetime.utcnow", "datetime.today",
        "date.today", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
        "datetime.date.today", "perf_counter", "monotonic",
    },
    "depends on randomness, by {}": {
        "os.urandom", "os.getpid", "uuid.uuid1", "uuid.uuid4", "uuid1", "uuid4", "getpid", "urandom",
        "random.SystemRandom",
    },
    "prints a traceback itself, by {}": {
        "traceback.print_exc", "traceback.print_exception", "traceback.print_tb", "traceback.format_exc",
        "traceback.format_exception", "print_exc", "format_exc", "faulthandler.dump_traceback",
    },
    "reads source code by {}": {
        "inspect.getsource", "inspect.getsourcelines", "getsource", "getsourcelines", "linecache.getline",
        "linecache.getlines", "dis.dis", "tokenize.open", "ast.parse",
    },
}  # fmt: skip
_CALLED = {name: words for words, names in _CALLS.items() for name in names}
_HOOKS = {"sys.excepthook", "sys.unraisablehook", "threading.excepthook", "sys.stderr", "sys.__stderr__"}
_SOURCE = {"__code__", "co_code", "co_consts", "co_names", "__loader__", "__spec__", "get_source"}
_SWALLOWED = {"Exception", "BaseException", "ImportError", "ModuleNotFoundError", "SyntaxError", "NameError"}
_SEEDS = {"seed", "Random", "RandomState", "default_rng", "MT19937", "PCG64", "PRNGKey"}
_STARTERS = {"subprocess", "runpy", "importlib", "pkgutil", "multiprocessing", "pty", "unittest", "doctest"}
_READERS = {"cat", "grep", "egrep", "sed", "awk", "head", "tail", "git", "diff"}


def find(source: bytes) -> bytes:
    """The doubts about a script, as fields of UTF-8, in the order of its lines; at most MAX_DOUBTS."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        found = dict.fromkeys(text for _, text in sorted([*_find(tree), *_imports_nothing(tree)]))
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        found = {"the script cannot be read by the program's own Python": None}
    return pack(text.encode("utf-8", "replace") for text in list(found)[:MAX_DOUBTS])


def _find(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each doubt with its line."""
    last = _last_exits(tree)
    seeded = any(_tail(node.func) in _SEEDS for node in ast.walk(tree) if isinstance(node, ast.Call))
    for node in ast.walk(tree):
        for text in _of_node(node, seeded):
            if node not in last:
                line = getattr(node, "lineno", 0)
                yield line, f"the script {text} (line {line})"


def _imports_nothing(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """A script that neither imports anything but the standard library nor starts anything does not run the project."""
    library = getattr(sys, "stdlib_module_names", None)  # from 3.10 on
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(at.name.split(".")[0] for at in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and _dotted(node.func) in ("os.system", "os.popen", "exec", "__import__"):
            return
    if library is not None and names <= library and not names & _STARTERS:
        yield sys.maxsize, "the script imports nothing of the project, and starts nothing"


def _of_node(node: ast.AST, seeded: bool) -> Iterator[str]:
    if isinstance(node, ast.Call):
        yield from _of_call(node, seeded)
    elif isinstance(node, ast.ExceptHandler):
        yield from _of_handler(node)
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (f"replaces {_dotted(at)}" for at in targets if _dotted(at) in _HOOKS)
    elif isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if raised is not None and _tail(raised) in ("SystemExit", "KeyboardInterrupt"):
            yield f"raises {_tail(raised)}"
    elif isinstance(node, ast.Attribute):
        if node.attr in _SOURCE or (node.attr == "__file__" and isinstance(node.ctx, ast.Load)):
            yield f"looks at {_shown(_dotted(node) or node.attr)}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if "Traceback (most" in node.value:
            yield "holds the text of a traceback"


def _of_call(node: ast.Call, seeded: bool) -> Iterator[str]:
    name, tail = _dotted(node.func), _tail(node.func)
    if name in _CALLED and not (name == "eval" and _is_repr(node)):
        yield _CALLED[name].format(name)
    elif ("random" in name.split(".")[:-1] or name.startswith("secrets.")) and not seeded:
        yield f"depends on randomness, by {_shown(name)}"
    if tail == "suppress" and any(_tail(at) in _SWALLOWED for at in node.args):
        yield "swallows errors by suppress"
    if _reads_python(node, name, tail):
        yield "reads a file of Python code"
    if name == "setattr" and len(node.args) > 1 and _text(node.args[1]) in ("excepthook", "stderr"):
        yield f"replaces sys.{_text(node.args[1])}"
    command = node.args[0] if node.args else None
    if isinstance(command, (ast.List, ast.Tuple)) and command.elts:
        command = command.elts[0]
    if name.startswith(("subprocess.", "os.")) or tail in ("check_output", "Popen"):
        word = (_text(command) or "").split(" ")[0]
        if word in _READERS:
            yield f"runs {word}"


def _of_handler(node: ast.ExceptHandler) -> Iterator[str]:
    """A handler that takes any error for granted: one that only the project's failure to load would raise, too."""
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    broad = [at for at in kinds if at is None or _tail(at) in _SWALLOWED]
    inside = (at for statement in node.body for at in ast.walk(statement))
    if broad and not any(isinstance(at, (ast.Raise, ast.Assert)) for at in inside):
        yield f"catches {_tail(broad[0]) if broad[0] else 'every error'} and goes on"


def _last_exits(tree: ast.Module) -> set[ast.AST]:
    """The call in which the script ends with 0 anyway: `sys.exit()` or `sys.exit(0)` as its very last statement."""
    body = tree.body
    while body:
        last = body[-1]
        if isinstance(last, ast.If) and not last.orelse and body is tree.body:
            body = last.body
            continue
        call = last.value if isinstance(last, ast.Expr) else None
        if isinstance(call, ast.Call) and _dotted(call.func) in ("sys.exit", "exit", "quit"):
            if all(isinstance(at, ast.Constant) and at.value in (0, None) for at in call.args):
                return {call}
        break
    return set()


def _reads_python(node: ast.Call, name: str, tail: str) -> bool:
    """Whether it opens a file whose constant name ends in .py for reading."""
    if tail in ("read_text", "read_bytes") and isinstance(node.func, ast.Attribute):
        return any((_text(at) or "").endswith(".py") for at in ast.walk(node.func.value))
    if name not in ("open", "io.open", "codecs.open") or not node.args:
        return False
    modes = [*node.args[1:2], *(at.value for at in node.keywords if at.arg == "mode")]
    writes = any(set(_text(at) or "") & set("wax") for at in modes)
    return not writes and any((_text(at) or "").endswith(".py") for at in ast.walk(node.args[0]))


def _is_repr(node: ast.Call) -> bool:
    """eval(repr(x)), which looks whether a value's text is the value again."""
    inner = node.args[0] if len(node.args) == 1 else None
    return isinstance(inner, ast.Call) and _tail(inner.func).endswith(("repr", "str"))


def _text(node: ast.AST | None) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _tail(node: ast.AST) -> str:
    """The last name of a dotted expression, or ""."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _dotted(node: ast.AST) -> str:
    """`a.b.c` of a plain dotted expression, else ""."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _shown(text: str) -> str:
    return text if len(text) <= MAX_NAME else text[:MAX_NAME] + "…"
