"""Checks the include order of rooms: the arrows between libraries, and that third-party headers stay inside one
library.

usage: arrows.py [ROOT]; one line per finding, exit 1 if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import source

# Each library of native/, and the other libraries that it may include.
NATIVE = {
    "base": set(),
    "http": {"base"},
    "journal": {"base"},
    "vcs": {"base"},
    "index": {"base", "vcs"},
    "search": {"base", "index", "vcs"},
    "patch": {"base", "index", "vcs"},
    "spectrum": {"base"},
    "sandbox": {"base", "vcs", "http"},
    "money": {"base"},
    "llm": {"base", "http", "money"},
}
# The rooms of runtime/: each may include the rooms after it, and all of native/.
RUNTIME = [
    "main",
    "verbs",
    "serve",
    "report",
    "eval",
    "batch",
    "task",
    "loops",
    "project",
    "extensions",
    "agents",
    "py",
    "layout",
]
# The prefix of third-party headers, and the only room whose .c files and private headers may include them.
FOREIGN = {
    "git2": "native/vcs",
    "curl/": "native/http",
    "microhttpd": "native/http",
    "cjson/": "native/base",
    "cJSON": "native/base",
    "sqlite3": "native/index",
    "pcre2": "native/search",
    "Python.h": "runtime/py",
}
REFUSED = ("gio/", "glib-object.h", "gobject/", "gmodule.h")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_LIBRARY = re.compile(r"acr_library\((\w+)\s+(native|runtime)/\w+(?:[^)]*?USES\s+([\w\s]*?))?\s*(?:PRIVATE[^)]*)?\)")


def may_use(room: str, other: str) -> bool:
    """Whether files of one room ("native/vcs", "runtime/task") may include headers of another."""
    if room == other:
        return True
    side, name = room.split("/")
    other_side, other_name = other.split("/")
    if other_side == "native":
        return side == "runtime" or other_name in NATIVE.get(name, set())
    if side == "native" or name not in RUNTIME or other_name not in RUNTIME:
        return False
    return RUNTIME.index(name) < RUNTIME.index(other_name)


def room_of(path: Path) -> str:
    """The room of a path relative to the root; files directly in runtime/ belong to the room "main"."""
    return f"{path.parts[0]}/{path.parts[1] if len(path.parts) > 2 else 'main'}"


def _target(root: Path, includer: Path, name: str) -> Path | None:
    """Our file that a quoted include refers to, relative to the root; None if there is none."""
    for folder in (includer.parent, root / "native", root / "runtime"):
        found = folder / name
        if found.is_file():
            return found.resolve().relative_to(root)
    return None


def _foreign(path: Path, room: str, name: str) -> str | None:
    """The error in including a third-party header, or None."""
    if name.startswith(REFUSED):
        return "GLib's core is all that is used"
    for beginning, owner in FOREIGN.items():
        if name.startswith(beginning):
            if room != owner:
                return f"stays inside {owner}"
            if path.suffix == ".h" and not path.stem.endswith("_private"):
                return "does not belong into a public header"
    return None


def _ours(room: str, name: str, target: Path | None) -> str | None:
    """The error in including one of our headers, or None."""
    if target is None:
        return "there is no such file"
    other = room_of(target)
    if not may_use(room, other):
        return f"no arrow leads from {room} to {other}"
    if target.stem.endswith("_private") and other != room:
        return f"is private to {other}"
    return None


def check_includes(root: Path) -> Iterator[str]:
    """Findings over the include lines of native/ and runtime/."""
    for side in ("native", "runtime"):
        for path in source.files(root / side, ".c", ".h"):
            inside = path.relative_to(root)
            room = room_of(inside)
            text = source.without_comments(source.read(path))
            for match in _INCLUDE.finditer(text):
                name = match[2]
                wrong = _foreign(inside, room, name)
                if wrong is None and match[1] == '"':
                    wrong = _ours(room, name, _target(root, path, name))
                if wrong:
                    yield f'{inside}:{source.line_of(text, match.start())}: "{name}": {wrong}'


def check_links(root: Path) -> Iterator[str]:
    """Findings about the libraries that CMakeLists.txt links to each library."""
    listing = root / "CMakeLists.txt"
    rooms: dict[str, str] = {}
    libraries = list(_LIBRARY.finditer(source.read(listing))) if listing.is_file() else []
    for match in libraries:
        rooms[match[1]] = f"{match[2]}/{match[1]}"
    for match in libraries:
        for used in (match[3] or "").split():
            if not may_use(rooms[match[1]], rooms.get(used, f"native/{used}")):
                yield f"CMakeLists.txt: {match[1]} USES {used}: no such arrow"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    yield from check_includes(root)
    yield from check_links(root)


if __name__ == "__main__":
    source.run(check)
