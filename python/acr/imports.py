"""Restricts what the process that parses a repository's code can import to what is installed with the interpreter.

pylint puts the folder that it checks on sys.path, where its own late imports would find the repository's files.
"""

from __future__ import annotations

import site
import sys
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Installed:
    """Finds modules only in the folders that the constructor got, whatever sys.path contains."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders
        self._below = tuple(f"{folder}/" for folder in folders)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module, as the import system asks; `path` is the path of the package, for a module in a package."""
        within = self._folders if path is None else [each for each in path if each.startswith(self._below)]
        return PathFinder.find_spec(name, within, target)


def freeze(_: bytes) -> bytes:
    """Restrict imports from now on to the folders in sys.path and those of installed packages."""
    add_site_packages()
    sys.meta_path[:] = [_Installed(list(sys.path)) if each is PathFinder else each for each in sys.meta_path]
    return b""


def add_site_packages() -> None:
    """Add the folders of installed packages to sys.path, if this Python was started without `site`.

    Their .pth files are not read, because these can add other folders and run code.
    """
    if not sys.flags.no_site:
        return
    read, site.addpackage = site.addpackage, lambda *_: None
    try:
        site.addsitepackages(site.venv(site.removeduppaths()))
    finally:
        site.addpackage = read
