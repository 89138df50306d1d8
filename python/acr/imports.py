"""What the process that looks at a repository's code can import: what is installed with the interpreter, nothing else.

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
    """Finds modules in the folders it was made with, whatever stands in sys.path."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders
        self._below = tuple(f"{folder}/" for folder in folders)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As an importer is asked; `path` is that of the package, for a module in one."""
        within = self._folders if path is None else [each for each in path if each.startswith(self._below)]
        return PathFinder.find_spec(name, within, target)

    def invalidate_caches(self) -> None:
        """Forget what was in the folders."""
        PathFinder.invalidate_caches()


def freeze(_: bytes) -> bytes:
    """Import from now on only from the folders in sys.path and the installed packages'."""
    add_site_packages()
    sys.meta_path[:] = [_Installed(list(sys.path)) if each is PathFinder else each for each in sys.meta_path]
    return b""


def add_site_packages() -> None:
    """Add the folders of installed packages to sys.path, where this Python was started without them (`site`).

    Their .pth files are not read: they add folders from elsewhere, and run code.
    """
    if not sys.flags.no_site:
        return
    read, site.addpackage = site.addpackage, lambda *_: None
    try:
        site.addsitepackages(site.venv(site.removeduppaths()))
    finally:
        site.addpackage = read
