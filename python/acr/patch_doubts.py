"""What a patch adds that could make a script end well without mending anything.

It decides of graded tests, beside canaries (`grading/trust.py`). The patched files are parsed, never run. Only what is added counts: code on a changed line, of a kind that its function did not hold before.
"""

from __future__ import annotations

import ast
import json
import re
import sys

from acr import changed_code
from acr.packing import pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.changed_code import Code

MAX_TEXTS = 8  # of each list
MAX_QUOTE = 80  # characters of a line, a name or a path that a text repeats

# Words -> names. "a.b" is that name and all below it, however it was imported; ".b" an attribute `b` of anything, also
# as a text; "a.b*" a prefix.
_BARRED = {
    "reads frames by {}": "._getframe ._current_frames ._current_exceptions .currentframe .getouterframes "
    ".getinnerframes .findCaller .get_stack .walk_stack .walk_tb .extract_stack .tb_frame .f_back .f_locals .f_globals .f_builtins .f_lineno "
    ".f_code .gi_frame .cr_frame .ag_frame inspect.stack inspect.trace",
    "reaches into functions by {}": ".__globals__ .__closure__ .cell_contents .co_consts .co_names .co_code .gi_code",
    "searches all objects by {}": ".get_referrers .get_referents gc.get_objects gc.get_* "
    "object.__subclasses__ type.__subclasses__ .__base__",
    "reaches into memory by {}": "ctypes _ctypes cffi",
    "traces by {}": ".settrace .setprofile .gettrace .getprofile .settrace_all_threads .setprofile_all_threads .f_trace "
    "sys.monitoring .addaudithook",
    "changes descriptors by {}": ".dup2 os.closerange",
    "reaches for the main module by {}": "__main__",
    "reaches for the built-in names by {}": ".__builtins__ __builtins__",
}
_LOOKS = "looks at functions by {}"
_TESTS = "uses a test library by {}"
_TOLD = {
    "can end the process by {}": "sys.exit os._exit os.kill os.killpg os.abort quit exit SystemExit "
    "signal.raise_signal signal.pthread_kill faulthandler.dump_traceback_later",
    "starts or replaces processes by {}": "os.exec* os.fork* os.posix_spawn* os.spawn* os.system os.popen pty "
    "multiprocessing subprocess concurrent.futures.ProcessPoolExecutor asyncio.create_subprocess_exec "
    "asyncio.create_subprocess_shell",
    "runs code later by {}": "threading.Thread threading.Timer _thread concurrent.futures.ThreadPoolExecutor signal "
    "atexit .excepthook .unraisablehook",
    "depends on what is imported, or changes it, by {}": "sys.modules sys.meta_path sys.path_hooks sys.path "
    "sys.path_importer_cache",
    "asks how it is run by {}": "sys.argv sys.orig_argv sys.stdin sys.flags socket.gethostname platform.node getpass "
    "os.getlogin os.getpid os.getppid os.environ os.environb os.getenv os.isatty",
    "turns off all logging by {}": "logging.disable",
    _LOOKS: ".__code__ .CodeType .FunctionType .CellType .__defaults__ .__kwdefaults__",
    "reads source code by {}": "linecache inspect.getsource inspect.getsourcelines inspect.findsource",
    "runs text as code by {}": "exec eval compile builtins.exec builtins.eval builtins.compile",
    "takes all names by {}": r"sys.\* os.\* gc.\* inspect.\* builtins.\*",
    _TESTS: "unittest pytest _pytest mock nose",
}
_SETS = "sets how Python starts by {}"
_MAIN = "reaches for the main module by {}"
_INTO = "reaches into functions by {}"
_NUMBER = "uses a descriptor by its number, by {}"
_ASKS = "asks how it is run by {}"
_TEXTS = {  # words -> the whole of a constant text
    _MAIN: r"__main__(\.(?!py$)[\w.]+)?",
    "reaches into the process by {}": r"(?s).*(/proc/?$|/proc/(self|thread-self|[%{\d])|/dev/(fd|std)).*",
    _SETS: r"PYTHON[A-Z]{2,}",
    "looks for the script's name by {}": r"(?i)\S*reproducer\S*",
}
_ALWAYS_BARRED = {*_BARRED, *_TEXTS, _NUMBER}
_SHADOWS = "the patch adds a file that takes precedence over the module {}"
_STARTS = "the patch adds a file that is run at the start of Python or of tests"
_CONSTANT = {
    "__eq__",
    "__ne__",
    "__hash__",
    "__bool__",
    "__len__",
    "__instancecheck__",
    "__subclasscheck__",
    "__class__",
}
_TRUE_ONLY = {"__contains__", "__exit__", "__lt__", "__le__", "__gt__", "__ge__"}
_BY_HAND = {"__eq__", "__ne__", "__bool__", "__class__"}
_MAKERS = {"CodeType", "FunctionType", "CellType"}
_BY_NUMBER = {
    "open",
    "io.open",
    *(f"os.{at}" for at in ("write", "writev", "pwrite", "fdopen", "dup", "close", "read")),
}
_HIDING = {"sys", "os", "builtins", "gc", "inspect"}
_LIBRARY = getattr(sys, "stdlib_module_names", frozenset())  # from 3.10 on
_RUNNERS = {"pytest", "_pytest", "pluggy", "nose", "mock"}
_STARTERS = {"conftest", "sitecustomize", "usercustomize"}
_TEST_FILE = re.compile(r"(.*/)?(tests?/.*|test_[^/]*\.py|[^/]*_test\.py|conftest\.py)")
_SETTINGS = re.compile(r"(.*/)?(setup\.(py|cfg)|pyproject\.toml|tox\.ini|pytest\.ini|entry_points\.txt)")


def _table() -> tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]:
    """The names by how they match: whole, as the last part, by a prefix."""
    whole, last, prefix = {}, {}, []
    for words, names in (*_BARRED.items(), *_TOLD.items()):
        for name in names.split():
            if name.endswith("*") and not name.endswith("\\*"):
                prefix.append((name[:-1], words))
            else:
                (last if name.startswith(".") else whole)[name.lstrip(".").replace("\\", "")] = words
    return whole, last, prefix


_WHOLE, _LAST, _PREFIX = _table()


# Doubts that make a patch unproved by themselves: a mended function has no need of it.
_DECISIVE = re.compile(
    r"of the standard library:|by os\._exit:|turns off all logging|__defaults__|sys\.argv\[0\]|by (unittest\.)?mock\b"
)


def decisive(doubts: dict[str, list[str]]) -> list[str]:
    """What makes that a patch proves nothing, of what `find` gives."""
    return [*doubts["barred"], *(at for at in doubts["told"] if _DECISIVE.search(at))]


def find(files: bytes) -> bytes:
    """Reads a patch; gives one packed field of JSON: {"barred": [text…], "told": [text…], "changed": {path: ranges}}.

    `files` is packed as path, before, after of each file that the patch touches; a side that does not exist is an empty
    field, one that does is b"+" and its bytes. A barred text makes the patch unproved; the others are shown. A range is
    [first, last], of lines of the version after, from 1, of a file whose name ends in .py. Raises ValueError when `files`
    is not such a list.
    """
    fields = unpack(files)
    if len(fields) % 3 or any(side[:1] not in (b"", b"+") for at in (1, 2) for side in fields[at::3]):
        raise ValueError("fields are not triples of path, before and after")
    texts: dict[bool, dict[str, None]] = {True: {}, False: {}}
    changed = {}
    for raw, old, new in zip(fields[::3], fields[1::3], fields[2::3]):
        path, before = raw.decode("utf-8", "replace"), old[1:] if old else None
        if not new:
            continue
        found = [*_of_file(path, before, new[1:])]
        if path.endswith(".py"):
            lines, *versions = changed_code.compare(before, new[1:])
            changed[path] = changed_code.ranges(lines)
            found += _of_code(path, lines, *versions)
        for barred, text in found:
            texts[barred][text] = None
    result = {"barred": list(texts[True])[:MAX_TEXTS], "told": list(texts[False])[:MAX_TEXTS], "changed": changed}
    return pack([json.dumps(result).encode()])


def _of_file(path: str, before: bytes | None, after: bytes) -> Iterator[tuple[bool, str]]:
    """(barred, text) of what a file is by its name, or sets."""
    *folders, file = path.split("/")
    name, _, suffix = file.partition(".")
    top = folders[1:] if folders[:1] in (["src"], ["lib"]) else folders
    module = name if not top else top[0] if name == "__init__" and len(top) == 1 else ""
    loaded = suffix.split(".")[-1] in ("py", "pyc", "so", "pyd")
    if before is None and (suffix.endswith("pth") or (loaded and name in _STARTERS)):
        yield True, f"{_STARTS} ({_shown(path)})"
    elif before is None and loaded and module != "test" and module in _LIBRARY | _RUNNERS:
        yield True, f"{_SHADOWS.format(module)} ({_shown(path)})"
    if _SETTINGS.fullmatch(path):
        old = set((before or b"").splitlines())
        for number, line in enumerate(after.splitlines(), 1):
            if line not in old and re.search(rb"pytest11|addopts|-p\s+\w", line):
                yield False, f"the patch sets how tests are run: {_quoted(line)} ({_shown(path)}:{number})"


def _of_code(path: str, lines: set[int], before: Code | None, after: Code | None) -> Iterator[tuple[bool, str]]:
    """(barred, text) of what was added to a file of Python code: of each kind the first in each function."""
    if after is None:
        yield False, f"the patched file cannot be read by the program's own Python ({_shown(path)})"
        return
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for scope, words, name, line in sorted(_reaches(after, lines), key=lambda at: at[3]):
        found.setdefault((scope, words), (line, name))
    held = {at[:2] for at in _reaches(before, None)} if before and found else set()
    is_test = _TEST_FILE.fullmatch(path) is not None
    for (scope, words), (line, name) in found.items():
        barred = words in _ALWAYS_BARRED
        is_own = words == _TESTS and name.split(".")[0] in path.split("/")  # a test library's own files
        if (scope, words) not in held and not is_own and (barred or not is_test):
            said = f"the patch {words.format(_shown(name))}: {_quoted(after.lines[line - 1])}"
            yield barred and not is_test, f"{said} ({_shown(path)}:{line})"


def _reaches(code: Code, lines: set[int] | None) -> Iterator[tuple[str, str, str, int]]:
    """(scope, words, name, line) of all that the tables name, on some lines or on all."""
    plain, compared = _plain_texts(code.tree)
    for node in ast.walk(code.tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            last = node.body[-1].lineno
        line = first if lines is None else min(lines.intersection(range(first, last + 1)), default=0)
        for words, name in _of_node(code, node) if line and node not in plain else ():
            yield code.owner[first], _ASKS if words in (_MAIN, _SETS) and node in compared else words, name, line


def _plain_texts(tree: ast.AST) -> tuple[set[ast.AST], set[ast.AST]]:
    """(texts that reach for nothing, as docstrings and the "__main__" of a main guard do; what is compared)."""
    plain: set[ast.AST] = set()
    compared: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            plain.add(node.value)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            is_guard = any(isinstance(at, ast.Name) and at.id == "__name__" for at in sides)
            sides += [item for at in sides if isinstance(at, (ast.Tuple, ast.List, ast.Set)) for item in at.elts]
            (plain if is_guard else compared).update(sides)
        elif isinstance(node, ast.keyword) and node.arg == "run_name":
            plain.add(node.value)
        elif isinstance(node, ast.Dict):
            plain.update(value for key, value in zip(node.keys, node.values) if _is_text(key, "__name__"))
    return {at for at in plain if isinstance(at, ast.Constant)}, compared


def _is_text(node: ast.AST | None, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _of_node(code: Code, node: ast.AST) -> Iterator[tuple[str, str]]:
    """(words, name) of one node."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [at.name for at in node.names] if isinstance(node, ast.Import) else []
        yield from _of_name(*names, *(name for _, name in changed_code.imported(node)))
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
        yield from _of_name(code.dotted(node))
        if isinstance(node, ast.Call):
            yield from _of_call(code, node)
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
        for target in node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]:
            yield from _of_target(code, target)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        value = _returned(node)
        if value is not None and (node.name in _CONSTANT or (node.name in _TRUE_ONLY and value.value is True)):
            yield "gives {} a constant", node.name
    text = changed_code.text(node)
    if text is not None:
        yield from ((words, text) for words, rule in _TEXTS.items() if re.fullmatch(rule, text))
        if text.replace(".", "").isidentifier():
            found = ((_LAST[at], text) for at in text.split(".") if at in _LAST)
            yield from ((_LOOKS if words == _INTO else words, name) for words, name in found)


def _of_name(*names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        parts = name.split(".")
        yield from ((_LAST[at], name) for at in parts if at in _LAST)
        heads = [".".join(parts[: at + 1]) for at in range(min(len(parts), 4))]
        yield from ((_WHOLE[at], name) for at in heads if at in _WHOLE)
        yield from ((words, name) for prefix, words in _PREFIX if name.startswith(prefix))


def _of_call(code: Code, node: ast.Call) -> Iterator[tuple[str, str]]:
    called, name = code.dotted(node.func), code.dotted(node)
    if called.split(".")[-1] in _MAKERS:
        yield _INTO, called
    if called in _BY_NUMBER and node.args and code.is_number(node.args[0]):
        yield _NUMBER, called
    if code.imports(node) and not isinstance(node.args[0], ast.Constant):
        yield "imports a module whose name is made while running, by {}", called
    if called not in changed_code.BY_TEXT or len(node.args) < 2:
        return
    module, _, last = name.partition(".")
    if module in _HIDING and not isinstance(node.args[1], ast.Constant):
        yield "takes a name made while running from {}", module
    if called in ("setattr", "delattr"):
        yield from _of_change(name, last.split(".")[-1])


def _of_target(code: Code, target: ast.AST) -> Iterator[tuple[str, str]]:
    """What an assignment changes."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for at in target.elts:
            yield from _of_target(code, at)
    elif isinstance(target, ast.Name):
        yield from _of_change("", target.id)
    elif isinstance(target, ast.Attribute):
        yield from _of_change(code.dotted(target), target.attr)
    else:
        while isinstance(target, ast.Subscript):
            target = target.value
        yield from _of_change(code.dotted(target), "")


def _of_change(name: str, last: str) -> Iterator[tuple[str, str]]:
    if name.split(".")[0] in _LIBRARY and not any(_of_name(name)):
        yield "replaces {} of the standard library", name
    if last == "__code__":
        yield _INTO, name
    elif last in _BY_HAND:
        yield "sets {} by hand", last


def _returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.Constant | None:
    """The constant that is all that a function's body returns, or None."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    return value if isinstance(value, ast.Constant) else None


def _quoted(line: bytes) -> str:
    return f"`{_shown(line.decode('utf-8', 'replace').strip())}`"


def _shown(text: str) -> str:
    """A text on one line, without characters that change how it is shown."""
    plain = "".join(at if at.isprintable() else repr(at)[1:-1] for at in text[: MAX_QUOTE + 1])
    return plain if len(plain) <= MAX_QUOTE else plain[: MAX_QUOTE - 1] + "…"
