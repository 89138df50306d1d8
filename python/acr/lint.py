"""The referee between versions of a file that all compile: which version adds the fewest pylint errors?

It runs in a process of its own that has given up its rights (runtime/py/worker.c) and imports only what is installed
(imports.py). pylint never sees the repository: the files are written from memory into a private folder, laid out by
their paths, and nothing there is imported or run.
"""

from __future__ import annotations

import ast
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acr.byte_fields import unpack

# Errors that only say that the rest of the repository is missing.
_BLIND = "import-error,no-name-in-module,relative-beyond-top-level"
_OPTIONS = (
    "--rcfile=", "--persistent=n", "--jobs=1", "--disable=all", "--enable=E,F", f"--disable={_BLIND}",
    "--score=n", "--reports=n", "--clear-cache-post-run=n", "--ignore=", "--ignore-patterns=", "--ignore-paths=",
)  # fmt: skip
# A package whose content is unknown: it may contain any name.
_UNKNOWN_PACKAGE = b"def __getattr__(name):\n    return None\n"
_NO_HOME = "/dev/null/pylint"
_POSITION = re.compile(r"\b(line|column)s? \d+")

# (message id, symbol, object, text)
Finding = tuple[str, str, str, str]


@dataclass(frozen=True)
class Question:
    """A changed file: its text before (None: a new file), and the versions to choose from."""

    path: str
    before: bytes | None
    versions: tuple[bytes, ...]


def lint(payload: bytes) -> bytes:
    """Count by how many new errors each version exceeds the best version of its file.

    Takes for each file the fields path; text before, preceded by `+`, or empty for a new file; the number of versions
    in decimal; the versions. A file with one version is not linted: it is only there so that the others can import it.
    Returns one line for each file with a decimal number for each version, or `?` if pylint failed on one of them.
    """
    questions = _questions(unpack(payload))
    asked = [question for question in questions if len(set(map(_tree, question.versions))) > 1]
    worse: dict[str, list[int | None]] = {}
    if asked:
        _clear_caches()
        worse = _compare(questions, asked)
    lines = [worse.get(question.path, [0] * len(question.versions)) for question in questions]
    return "".join(" ".join("?" if n is None else str(n) for n in line) + "\n" for line in lines).encode()


def _questions(fields: list[bytes]) -> list[Question]:
    questions, at = [], 0
    while at < len(fields):
        if at + 3 > len(fields) or at + 3 + int(fields[at + 2]) > len(fields):
            raise ValueError("a file has fewer fields than its header states")
        end = at + 3 + int(fields[at + 2])
        before = fields[at + 1][1:] if fields[at + 1] else None
        questions.append(Question(os.fsdecode(fields[at]), before, tuple(fields[at + 3 : end])))
        at = end
    return questions


def _tree(text: bytes) -> str | bytes:
    """The syntax tree of a version; versions with equal trees have equal errors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return text


def _compare(questions: list[Question], asked: list[Question]) -> dict[str, list[int | None]]:
    """Path -> a number for each version. The old texts are linted only if their errors matter."""
    found: dict[str, list[Counter[Finding] | None]] = {question.path: [] for question in asked}
    for k in range(max(len(question.versions) for question in asked)):
        files = {each.path: each.versions[min(k, len(each.versions) - 1)] for each in questions}
        now = [each.path for each in asked if k < len(each.versions)]
        for path, errors_of in errors(files, now).items():
            found[path].append(errors_of)
    differ = [path for path, each in found.items() if None not in each and any(other != each[0] for other in each)]
    files = {each.path: each.before for each in questions if each.before is not None}
    before = errors(files, [path for path in differ if path in files])
    return {path: _worse(each, before.get(path, Counter())) for path, each in found.items()}


def _worse(found: list[Counter[Finding] | None], before: Counter[Finding] | None) -> list[int | None]:
    if before is None or None in found:
        return [None] * len(found)
    new = [sum((each - before).values()) for each in found if each is not None]
    return [count - min(new) for count in new]


def errors(files: dict[str, bytes], asked: list[str]) -> dict[str, Counter[Finding] | None]:
    """The errors of the requested files without line numbers, so that moved code keeps its errors.

    All files can be imported. None for a file on which pylint itself failed. Raises whatever pylint raises.
    """
    if not asked:
        return {}
    with tempfile.TemporaryDirectory(prefix="acr-lint-") as name, _undisturbed():
        root = Path(name).resolve()
        targets = {path: _write(root, path, text) for path, text in files.items()}
        _add_packages(root)
        messages = _run([str(targets[path]) for path in asked])
        _forget_modules(root)
    found: dict[str, Counter[Finding] | None] = {path: Counter() for path in asked}
    names = {str(targets[path]): path for path in asked}
    broken = any(message.msg_id.startswith("F") and message.abspath not in names for message in messages)
    for message in messages:
        path = names.get(message.abspath, "")
        if message.msg_id.startswith("F"):
            found.update({path: None} if path else {})
        elif (counter := found.get(path)) is not None:
            counter[_finding(root, message)] += 1
    return dict.fromkeys(asked) if broken else found


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


def _finding(root: Path, message: Any) -> Finding:
    return (message.msg_id, message.symbol, message.obj, _POSITION.sub(r"\1", message.msg.replace(str(root), "")))


def _run(paths: list[str]) -> list[Any]:
    run, reporter = _pylint()
    collected = reporter()
    # `--` keeps a name that begins with a dash from being an option.
    run([*_OPTIONS, "--", *paths], reporter=collected, exit=False)
    return collected.messages


def _pylint() -> tuple[type, type]:
    """Import pylint (0.3 s and 28 MB the first time) with a home that nobody can create: it unpickles files there."""
    environ = os.environ
    os.environ = {**environ, "PYLINTHOME": _NO_HOME}  # type: ignore[assignment]  # noqa: B003
    try:
        from pylint.lint import Run
        from pylint.reporters import CollectingReporter
    finally:
        os.environ = environ  # noqa: B003
    return Run, CollectingReporter


def _brain(name: str, default: Any) -> Any:
    """A part of astroid's shared state, or `default` if this version does not have it."""
    from astroid.manager import AstroidManager

    return AstroidManager.brain.get(name, default)


def _forget_modules(root: Path) -> None:
    """Forget the modules of one version, to make room for the next; keep everything else."""
    modules = _brain("astroid_cache", {})
    for name in [name for name, module in modules.items() if str(module.file or "").startswith(f"{root}{os.sep}")]:
        del modules[name]
    _brain("_mod_file_cache", {}).clear()  # where modules were found, and which are missing


def _clear_caches() -> None:
    """Empty every cache of pylint and astroid that an earlier batch filled; otherwise memory grows with each batch.

    Takes as long as pylint on a small file, so a process that lints only one batch does not call it.
    """
    if "astroid.manager" not in sys.modules:
        return
    hooks = _brain("_failed_import_hooks", [])
    known = len(hooks)
    with _no_collection():  # avoids collecting objects that are being made again
        sys.modules["astroid.manager"].AstroidManager().clear_cache()
    del hooks[known:]  # each clearing registers the hooks again
    for cached in gc.get_objects():
        if isinstance(cached, functools._lru_cache_wrapper):
            module = getattr(cached, "__module__", None) or ""
            if module.partition(".")[0] in ("pylint", "astroid"):
                cached.cache_clear()
    _brain("_mod_file_cache", {}).clear()
    gc.collect()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Restore sys.path and its importers, the streams and the recursion limit afterwards."""
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
