"""Finds what a person should check in a reproducer before trusting its exit code.

A good script runs the project and asserts. A script that only inspects the project, reads its source, swallows errors,
leaves the judgement to a child process, or depends on clock or chance may fail and pass for reasons of its own.
Experiments test what the script asserts (`experiments/`). Nothing here is a proof: a script that wants to deceive finds
another way, and the reviewer still reads it.
"""

from __future__ import annotations

import ast
import sys
import warnings

from acr.byte_fields import pack
from acr.experiments.site import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DOUBTS = 8
MAX_NAME = 60  # characters of the script's own text that a doubt quotes

_CALLS = {
    "calls {}": {"os._exit", "os.abort", "os.kill", "os.fork", "_exit"},
    "runs text as code with {}": {"exec", "eval", "compile", "__import__"},
    "reads the clock with {}": {
        "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter",
        "time.perf_counter_ns", "time.process_time", "datetime.now", "datetime.utcnow", "datetime.today",
        "date.today", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today",
        "datetime.date.today", "perf_counter", "monotonic",
    },
    "depends on randomness, from {}": {
        "os.urandom", "os.getpid", "uuid.uuid1", "uuid.uuid4", "uuid1", "uuid4", "getpid", "urandom",
        "random.SystemRandom",
    },
    "reads source code with {}": {
        "inspect.getsource", "inspect.getsourcelines", "getsource", "getsourcelines", "linecache.getline",
        "linecache.getlines", "dis.dis", "tokenize.open", "ast.parse",
    },
}  # fmt: skip
_CALLED = {name: words for words, names in _CALLS.items() for name in names}
_HOOKS = {"sys.excepthook", "sys.unraisablehook", "threading.excepthook", "sys.stderr", "sys.__stderr__"}
_SOURCE = {"__code__", "co_code", "co_consts", "co_names", "__loader__", "__spec__", "get_source", "__version__"}
_SWALLOWED = {"Exception", "BaseException", "ImportError", "ModuleNotFoundError", "SyntaxError", "NameError"}
_SEEDS = {"seed", "Random", "RandomState", "default_rng", "MT19937", "PCG64", "PRNGKey"}
_STARTERS = {"subprocess", "runpy", "importlib", "pkgutil", "multiprocessing", "pty", "unittest", "doctest"}
_LOOKS = {
    "getattr", "hasattr", "dir", "vars", "type", "repr", "str", "len", "print", "help", "id", "callable", "isinstance",
    "issubclass", "sorted", "list", "set", "inspect.signature", "inspect.getdoc", "inspect.getmembers", "signature",
    "inspect.isclass", "inspect.isfunction", "inspect.getmodule", "typing.get_type_hints", "get_type_hints",
    "os.path.getsize", "os.stat", "os.path.getmtime", "os.path.exists", "os.path.isfile", "os.path.join",
    "os.path.dirname", "os.path.abspath",
}  # fmt: skip
_RUNNERS = {"os.system", "os.popen", "exec", "__import__"}
_READERS = {"cat", "grep", "egrep", "sed", "awk", "head", "tail", "git", "diff"}


def find(source: bytes) -> bytes:
    """Return the doubts about a script as fields of UTF-8, in the order of its lines; at most MAX_DOUBTS."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        found = dict.fromkeys(text for _, text in sorted([*_find(tree), *_runs_nothing(tree)]))
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        found = {"acr-host's own Python cannot parse the script": None}
    return pack(text.encode("utf-8", "replace") for text in list(found)[:MAX_DOUBTS])


def _find(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each doubt with its line."""
    seeded = any(tail(node.func) in _SEEDS for node in ast.walk(tree) if isinstance(node, ast.Call))
    for node in ast.walk(tree):
        for text in _of_node(node, seeded):
            line = getattr(node, "lineno", 0)
            yield line, f"the script {text} (line {line})"
    texts = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 2 and _text_of_constant(node.elts[1]) == "-c":
            code = texts.get(getattr(node.elts[2], "id", ""), node.elts[2])
            if _judges(_text_of_constant(code) or ""):
                yield node.lineno, f"the script lets a child process decide its own exit code (line {node.lineno})"


def _judges(source: str) -> bool:
    """Whether a program tests for equality, or chooses its own exit status, depending on something."""
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    calls = [at for at in nodes if isinstance(at, ast.Call) and tail(at.func) in ("exit", "_exit", "SystemExit")]
    tests = [at for at in nodes if isinstance(at, ast.Compare) and isinstance(at.ops[0], (ast.Eq, ast.NotEq))]
    judges = any("__name__" not in ast.unparse(at) for at in tests)
    return judges or any(not isinstance(at.args[0], ast.Constant) for at in calls if at.args)


def _runs_nothing(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Doubt a script that neither uses its imports from the project nor starts a program."""
    library = getattr(sys, "stdlib_module_names", None)  # exists in Python 3.10 and later
    if library is None:
        return
    foreign: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            foreign.update((at.asname or at.name).split(".")[0] for at in node.names if _first(at.name) not in library)
            started = {_first(at.name) for at in node.names} & _STARTERS
        elif isinstance(node, ast.ImportFrom):
            first = "" if node.level else _first(node.module or "")
            foreign.update(at.asname or at.name for at in node.names if first not in library)
            started = {first} & _STARTERS
        else:
            started = isinstance(node, ast.Call) and _dotted(node.func) in _RUNNERS
        if started:
            return
    if not foreign:
        yield sys.maxsize, "the script neither imports the project nor starts a process"
    elif "*" not in foreign and not any(_uses(node, foreign) for node in ast.walk(tree)):
        yield sys.maxsize, "the script imports the project but runs none of its code"


def _first(name: str) -> str:
    return name.split(".")[0]


def _uses(node: ast.AST, names: set[str]) -> bool:
    """Whether a node may run code of the objects with these names, by a call (except one that only inspects), an
    operator, a subscript, a loop, a `with`, a class or a decorator."""
    if isinstance(node, ast.Call):
        parts = [node.func, *node.args, *(at.value for at in node.keywords)]
        parts = [] if _dotted(node.func) in _LOOKS else parts
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Subscript, ast.For, ast.With, ast.ClassDef, ast.comprehension)):
        parts = list(ast.iter_child_nodes(node))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = list(node.decorator_list)
    else:
        return False
    return any(isinstance(at, ast.Name) and at.id in names for part in parts for at in _outside_looks(part))


def _outside_looks(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and _dotted(node.func) in _LOOKS:
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.If, ast.While, ast.Try)):
        return
    yield node
    for at in ast.iter_child_nodes(node):
        yield from _outside_looks(at)


def _of_node(node: ast.AST, seeded: bool) -> Iterator[str]:
    if isinstance(node, ast.Call):
        yield from _of_call(node, seeded)
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (f"replaces {_dotted(at)}" for at in targets if _dotted(at) in _HOOKS)
    elif isinstance(node, ast.Try):
        inside = (at for statement in node.finalbody for at in ast.walk(statement))
        if any(isinstance(at, (ast.Return, ast.Break, ast.Continue)) for at in inside):
            yield "drops errors by leaving a finally clause"
    elif isinstance(node, ast.Attribute):
        if node.attr in _SOURCE:
            yield f"inspects {_shown(_dotted(node) or node.attr)}"


def _of_call(node: ast.Call, seeded: bool) -> Iterator[str]:
    name, last = _dotted(node.func), tail(node.func)
    if name.startswith("subprocess.") and any("assert " in (_text_of_constant(at) or "") for at in ast.walk(node)):
        yield "lets a child process decide its own exit code"
    if name in _CALLED and not (name == "eval" and _is_repr(node)):
        yield _CALLED[name].format(name)
    elif ("random" in name.split(".")[:-1] or name.startswith("secrets.")) and not seeded:
        yield f"depends on randomness, from {_shown(name)}"
    if last == "suppress" and any(tail(at) in _SWALLOWED for at in node.args):
        yield "swallows errors with suppress"
    if _reads_python(node, name, last):
        yield "reads a file of Python code"
    if name == "setattr" and len(node.args) > 1 and _text_of_constant(node.args[1]) in ("excepthook", "stderr"):
        yield f"replaces sys.{_text_of_constant(node.args[1])}"
    command = node.args[0] if node.args else None
    if isinstance(command, (ast.List, ast.Tuple)) and command.elts:
        command = command.elts[0]
    if name.startswith(("subprocess.", "os.")) or last in ("check_output", "Popen"):
        word = (_text_of_constant(command) or "").split(" ")[0]
        if word in _READERS:
            yield f"runs {word}"


def _reads_python(node: ast.Call, name: str, last: str) -> bool:
    """Whether a call opens a file whose constant name ends in .py for reading."""
    if last in ("read_text", "read_bytes") and isinstance(node.func, ast.Attribute):
        return any((_text_of_constant(at) or "").endswith(".py") for at in ast.walk(node.func.value))
    if name not in ("open", "io.open", "codecs.open") or not node.args:
        return False
    modes = [*node.args[1:2], *(at.value for at in node.keywords if at.arg == "mode")]
    named = any(isinstance(at, ast.Attribute) and at.attr == "__file__" for at in ast.walk(node.args[0]))
    if named and not any("." in (_text_of_constant(at) or "") for at in ast.walk(node.args[0])):
        return True
    writes = any(set(_text_of_constant(at) or "") & set("wax") for at in modes)
    return not writes and any((_text_of_constant(at) or "").endswith(".py") for at in ast.walk(node.args[0]))


def _is_repr(node: ast.Call) -> bool:
    """Whether a call is eval(repr(x)), which checks that the text of a value evaluates to the same value."""
    inner = node.args[0] if len(node.args) == 1 else None
    return isinstance(inner, ast.Call) and tail(inner.func).endswith(("repr", "str"))


def _text_of_constant(node: ast.AST | None) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _dotted(node: ast.AST) -> str:
    """`a.b.c` of a plain dotted expression, else ""."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _shown(text: str) -> str:
    return text if len(text) <= MAX_NAME else text[:MAX_NAME] + "…"
