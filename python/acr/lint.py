"""The referee: does a file compile, and which pylint errors does a change bring?

pylint runs in this process, on the one thread that owns Python. It never sees the repository: the files are written
from memory into a private folder, laid out by their paths, and nothing there is imported or run.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acr.fields import unpack

MAX_MESSAGE = 500  # characters

# Errors that only say that the rest of the repository is not there.
_BLIND = "import-error,no-name-in-module,relative-beyond-top-level"
_OPTIONS = (
    "--rcfile=", "--persistent=n", "--jobs=1", "--disable=all", "--enable=E,F", f"--disable={_BLIND}",
    "--score=n", "--reports=n", "--clear-cache-post-run=y", "--ignore=", "--ignore-patterns=", "--ignore-paths=",
)  # fmt: skip
# A package whose real content is unknown: any name may be in it.
_UNKNOWN_PACKAGE = b"def __getattr__(name):\n    return None\n"
_POSITION = re.compile(r"\b(line|column)s? \d+")

# (path, message id, symbol, object, text)
Finding = tuple[str, str, str, str, str]


def compiles(payload: bytes) -> bytes:
    """Whether a file compiles. Takes fields path, source; gives nothing if it does, else why not (UTF-8, one line)."""
    path, source = unpack(payload)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, os.fsdecode(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        shown = f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    except (ValueError, OverflowError) as error:
        shown = str(error)
    except RecursionError:
        shown = "nested too deeply"
    except MemoryError:
        shown = "too deep or too large for the parser"
    else:
        return b""
    return " ".join(shown.split())[:MAX_MESSAGE].encode("utf-8", "replace")


def new_errors(payload: bytes) -> bytes:
    """How many errors the changed files have that they had not before.

    Takes three fields a file: path; before, with `+` in front, or empty for a new file; after. Gives a decimal number.
    """
    fields = unpack(payload)
    if len(fields) % 3:
        raise ValueError("three fields a file are needed")
    paths = [os.fsdecode(path) for path in fields[0::3]]
    before = {path: text[1:] for path, text in zip(paths, fields[1::3]) if text}
    after = dict(zip(paths, fields[2::3]))
    new = errors(after) - _errors_before(tuple(before.items()))
    return str(sum(new.values())).encode()


@functools.lru_cache(maxsize=4)
def _errors_before(files: tuple[tuple[str, bytes], ...]) -> Counter[Finding]:
    """What the files had before: asked again for each reading of the same edit, and linted once."""
    return errors(dict(files))


def errors(files: dict[str, bytes]) -> Counter[Finding]:
    """All errors of the files, without their lines, so that what only moved is the same error."""
    if not files:
        return Counter()
    with tempfile.TemporaryDirectory(prefix="acr-lint-") as name, _undisturbed():
        root = Path(name).resolve()
        written = [_write(root, path, text) for path, text in files.items()]
        _add_packages(root)
        messages = _run([str(path) for path in written])
    return Counter(_finding(root, message) for message in messages)


def _write(root: Path, path: str, text: bytes) -> Path:
    parts = Path(path).parts
    if not parts or Path(path).is_absolute() or ".." in parts:
        raise ValueError(f"not a path in a repository: {path!r}")
    target = root.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text)
    return target


def _add_packages(root: Path) -> None:
    for folder in [path for path in root.rglob("*") if path.is_dir()]:
        init = folder / "__init__.py"
        if not init.exists():
            init.write_bytes(_UNKNOWN_PACKAGE)


def _finding(root: Path, message: object) -> Finding:
    text = _POSITION.sub(r"\1", message.msg.replace(str(root), ""))
    return (os.path.relpath(message.abspath, root), message.msg_id, message.symbol, message.obj, text)


def _run(paths: list[str]) -> list[object]:
    run, reporter = _pylint()
    collected = reporter()
    hooks = _brain("_failed_import_hooks", [])
    known = len(hooks)
    try:
        # `--` keeps a name that begins with a dash from being an option.
        run([*_OPTIONS, "--", *paths], reporter=collected, exit=False)
    finally:
        del hooks[known:]  # clearing registers them once more each time
        _clear_caches()
    return collected.messages


def _pylint() -> tuple[type, type]:
    """Import pylint (0.3 s and 28 MB the first time), with a home of its own that is never made."""
    environ = os.environ
    if "pylint.constants" not in sys.modules:
        home = os.path.join(tempfile.gettempdir(), f"acr-no-pylint-home-{os.getpid()}")
        # Not putenv: other threads of the process read the environment.
        os.environ = {**environ, "PYLINTHOME": home}  # type: ignore[assignment]
    try:
        from pylint.lint import Run
        from pylint.reporters import CollectingReporter
    finally:
        os.environ = environ
    return Run, CollectingReporter


def _brain(name: str, default: Any) -> Any:
    """A part of astroid's shared state, or `default` where this version has none of that name."""
    from astroid.manager import AstroidManager

    return AstroidManager.brain.get(name, default)


def _clear_caches() -> None:
    """Empty every cache of pylint and astroid: else an edited file is reported as it was, and memory grows."""
    for cached in gc.get_objects():
        if isinstance(cached, functools._lru_cache_wrapper):
            module = getattr(cached, "__module__", None) or ""
            if module.partition(".")[0] in ("pylint", "astroid"):
                cached.cache_clear()
    _brain("_mod_file_cache", {}).clear()  # where modules were found, and which were not
    gc.collect()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Give back sys.path and its importers, the streams and the recursion limit as they were."""
    path, limit, importers = list(sys.path), sys.getrecursionlimit(), set(sys.path_importer_cache)
    sink = io.StringIO()
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.path[:] = path
        for added in set(sys.path_importer_cache) - importers:
            del sys.path_importer_cache[added]
        sys.setrecursionlimit(limit)
