"""Checks that names describe contents: names of files and functions, the top level, and files that are too large.

usage: names.py [ROOT]; one line per finding, exit 1 if there is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import c_code
import source

# A file name that occurs in two rooms -> the concept that both implement. Files of runtime/verbs are named after their
# verb.
SHARED: dict[str, str] = {
    "error.c": "a library's error domain",
}
# Names that say nothing about the contents.
EMPTY = {"common", "misc", "util", "utils", "helpers", "stuff", "shared"}
TOP = {
    ".ci",
    ".clang-format",
    ".dockerignore",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CMakeLists.txt",
    "CMakePresets.json",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "docs",
    "native",
    "prompts",
    "pyproject.toml",
    "python",
    "runtime",
    "tests",
    "tools",
}
MAX_BYTES = 256 * 1024
# The maximum number of function names that occur in more than two files; such a name cannot be found by a search.
MAX_COMMON_NAMES = 15


def function_names(root: Path) -> dict[str, set[Path]]:
    """Name of a function of native/, runtime/ or python/ -> the files that define one."""
    found: dict[str, set[Path]] = {}
    for side in ("native", "runtime", "python"):
        for path in source.files(root / side, ".c", ".py"):
            text = source.read(path)
            if path.suffix == ".c":
                names = {function.name for function in c_code.parse(text).functions}
            else:
                tree = ast.parse(text)
                names = {
                    n.name for n in source.statements(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
                }
            for name in names:
                if not name.startswith("__"):
                    found.setdefault(name, set()).add(path.relative_to(root))
    return found


def common_names(root: Path) -> Iterator[str]:
    """A finding if too many names occur in more than two files."""
    common = {name: paths for name, paths in function_names(root).items() if len(paths) > 2}
    if len(common) > MAX_COMMON_NAMES:
        most = sorted(common, key=lambda name: -len(common[name]))[:10]
        yield f"names.py: {len(common)} function names stand in more than two files, as {', '.join(most)}; add their noun"


def c_names(paths: list[Path]) -> Iterator[str]:
    """Findings on the C files of native/ and runtime/."""
    rooms: dict[str, list[Path]] = {}
    ours = {path for path in paths if path.parts[0] in ("native", "runtime") and path.suffix in (".c", ".h")}
    for path in sorted(ours):
        if path.stem in EMPTY:
            yield f"{path}: the name does not say what the file holds"
        if path.with_name(f"{path.stem}s{path.suffix}") in ours:
            yield f"{path}: {path.stem}s{path.suffix} stands beside it; a reader cannot tell which is which"
        if path.parent != Path("runtime/verbs"):
            rooms.setdefault(path.name, []).append(path)
    for name, found in rooms.items():
        if len(found) > 1 and name not in SHARED:
            yield f"{found[0]}: {', '.join(str(path.parent) for path in found)} each have a file of this name"
    for name in SHARED:
        if len(rooms.get(name, [])) == 1:
            yield f"names.py: {name} is allowed without need"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    paths = [path.relative_to(root) for path in source.tracked(root)]
    yield from c_names(paths)
    for name in {path.parts[0] for path in paths} - TOP:
        yield f"{name}: is not known at the top level (TOP in names.py)"
    for path in paths:
        size = (root / path).lstat().st_size
        if size > MAX_BYTES:
            yield f"{path}: has {size} bytes, {MAX_BYTES} are allowed"
    yield from common_names(root)


if __name__ == "__main__":
    source.run(check)
