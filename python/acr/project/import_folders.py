"""Finds the folders from which the modules of an uninstalled project are imported.

These are the folders named in the project's packaging and test settings, which are read as text and never executed, and
the usual folders. Each folder with such settings counts as a project, so that several packages find each other.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SETTINGS = ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini")
_PACKAGING = _SETTINGS[:3]  # these files make a folder a project
_NOT_CODE = ("test", "example", "doc", "fixture", "demo", "sample", "vendor", "template", ".")
_KEYS = [
    re.compile(rf"(?<![\w-]){key}(?![\w-])", re.ASCII | re.IGNORECASE)
    for key in (
        *("package_dir", "package-dir", "where", "packages", "find_packages", "find_namespace_packages"),
        *("python-source", "module-root", "from", "pythonpath", "sources"),
    )
]
_MAX_PROJECTS = 32
_MAX_FOLDERS = 64
_MAX_DEPTH = 3  # maximum depth of a project's folder
_MAX_SETTING_LINES = 12


def wanted(paths: Iterable[str]) -> list[str]:
    """The files whose texts `find` reads."""
    known = set(paths)
    places = (_join(project, name) for project in _projects(paths) for name in _SETTINGS)
    return [path for path in places if path in known]


def find(paths: Iterable[str], texts: dict[str, str]) -> list[str]:
    """The folders, relative to the tree and without its root, in the order in which Python should search them."""
    folders = _Folders(paths)
    for project in _projects(paths):
        for name in _SETTINGS:
            for word in _settings(texts.get(_join(project, name), "")):
                folders.add(_join(project, word), folders.of_modules)
        folders.add(_join(project, "src"), folders.of_modules)
        folders.add(_join(project, "lib"), folders.of_packages)
        folders.add(project, folders.of_packages)
    return folders.found


def _join(project: str, name: str) -> str:
    return f"{project}/{name}" if project else name


def _projects(paths: Iterable[str]) -> list[str]:
    """The root, and the folders with settings that do not belong to tests and guides."""
    found = {"": None}
    for path in paths:
        folder, _, name = path.rpartition("/")
        parts = folder.split("/")
        if name in _PACKAGING and len(parts) <= _MAX_DEPTH and not any(part.startswith(_NOT_CODE) for part in parts):
            found[folder] = None
    return list(found)[: _MAX_PROJECTS + 1]


class _Folders:
    """The folders found so far, each once."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.found: list[str] = []
        self._packages = {path.rpartition("/")[0] for path in paths if path.endswith("/__init__.py")}
        self.of_packages = {package.rpartition("/")[0] for package in self._packages}  # the packages' parents
        self.of_modules: set[str] = set()  # folders with modules at any depth
        for path in paths:
            folder = path if path.endswith(".py") else ""
            while folder:
                folder = folder.rpartition("/")[0]
                self.of_modules.add(folder)

    def add(self, folder: str, allowed: set[str]) -> None:
        """Add the folder from which `folder` is imported: a package is imported from the folder that contains it."""
        while folder in self._packages:
            folder = folder.rpartition("/")[0]
        if folder and folder in allowed and folder not in self.found and len(self.found) < _MAX_FOLDERS:
            self.found.append(folder)


def _settings(text: str) -> Iterable[str]:
    """The words that may be folders: the text after a key on its line, and the next lines while a bracket is open or,
    as in setup.cfg, while they are indented."""
    depth = left = 0
    for line in text.split("\n"):
        key = next(filter(None, (key.search(line) for key in _KEYS)), None)
        if line.lstrip().startswith("#"):
            continue
        if key:
            depth, left = 0, _MAX_SETTING_LINES
        elif left == 0 or (depth <= 0 and not line[:1].isspace()):
            left = 0
            continue
        value = line[key.end() :] if key else line
        yield from _shell_words(value)
        # A table of TOML, [tool.setuptools.package-dir], continues without indentation.
        is_table = key and line.lstrip().startswith("[")
        depth += 1 if is_table else sum(map(value.count, "([{")) - sum(map(value.count, ")]}"))
        left -= 1


def _shell_words(text: str) -> Iterable[str]:
    for word in re.findall(r"[A-Za-z0-9_./-]+", text):
        name = word.lstrip("./").rstrip("/")
        if name == "exclude":
            return
        if name and ".." not in name:
            yield name
