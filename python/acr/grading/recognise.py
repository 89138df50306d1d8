"""Finds the recipe for a checkout of a known project, whose files show the project and the version.

Each project has its version in a module, in a changelog or in the names of release notes. If no recipe has exactly that
version, the nearest recipe is used.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from acr.grading import environments


class UnknownRecipe(Exception):
    """No recipe has that name, or none fits the checkout; the message is for the user."""


class _Project(NamedTuple):
    marks: tuple[str, ...]  # files that only this project has
    says: tuple[str, ...]  # files that may name its version
    version: str  # pattern of the version there: two groups, major and minor
    notes: str = ""  # pattern of the version in the paths of release notes


_IN_MODULE = r"^__version__\s*=\s*['\"]v?(\d+)\.(\d+)"
_PROJECTS = {
    "django/django": _Project(("django/db/models/base.py",), ("django/__init__.py",), r"^VERSION = \((\d+), (\d+)"),
    "sympy/sympy": _Project(("sympy/core/basic.py",), ("sympy/release.py", "sympy/__init__.py"), _IN_MODULE),
    "matplotlib/matplotlib": _Project(
        ("lib/matplotlib/pyplot.py",), (), "", r"^doc/users/prev_whats_new/whats_new_(\d+)\.(\d+)[.\d]*\.rst$"
    ),
    "scikit-learn/scikit-learn": _Project(("sklearn/base.py",), ("sklearn/__init__.py",), _IN_MODULE),
    "pytest-dev/pytest": _Project(
        ("src/_pytest/python.py", "_pytest/python.py"),
        ("doc/en/changelog.rst", "CHANGELOG.rst"),
        r"^pytest (\d+)\.(\d+)",
        r"^doc/en/announce/release-(\d+)\.(\d+)[.\w]*\.rst$",
    ),
    "sphinx-doc/sphinx": _Project(("sphinx/application.py",), ("sphinx/__init__.py",), _IN_MODULE),
    "astropy/astropy": _Project(
        ("astropy/units/core.py",),
        ("CHANGES.rst",),
        r"^(?:Version )?(\d+)\.(\d+)",
        r"^docs/whatsnew/(\d+)\.(\d+)\.rst$",
    ),
    "psf/requests": _Project(
        ("requests/adapters.py", "src/requests/adapters.py", "requests/models.py"),
        ("src/requests/__version__.py", "requests/__version__.py", "requests/__init__.py"),
        _IN_MODULE,
    ),
    "pylint-dev/pylint": _Project(
        ("pylint/checkers/base_checker.py",),
        ("pylint/__pkginfo__.py",),
        r"^(?:__version__|version|numversion) ?=\s*[('\"]+(\d+)(?:\.|, )(\d+)",
    ),
    "pydata/xarray": _Project(
        ("xarray/core/dataset.py",), ("doc/whats-new.rst",), r"^\.\. _whats-new\.(\d+)\.(\d+)|^v(\d+)\.(\d+)"
    ),
    "mwaskom/seaborn": _Project(("seaborn/distributions.py",), ("seaborn/__init__.py",), _IN_MODULE),
    "pallets/flask": _Project(
        ("src/flask/app.py", "flask/app.py"),
        ("src/flask/__init__.py", "pyproject.toml", "flask/__init__.py"),
        _IN_MODULE + r"|^version = \"(\d+)\.(\d+)",
    ),
}


def files_of_versions() -> list[str]:
    """The files that `find_recipe` needs, if they exist."""
    return [path for project in _PROJECTS.values() for path in project.says]


def _project_of(paths: frozenset[str]) -> str:
    """The project of a checkout; "": unknown."""
    found = [repo for repo, project in _PROJECTS.items() if not paths.isdisjoint(project.marks)]
    return found[0] if len(found) == 1 else ""


def version_of(repo: str, paths: frozenset[str], texts: dict[str, str]) -> tuple[int, int] | None:
    """The major and minor version of a checkout; None if its files do not show them."""
    project = _PROJECTS[repo]
    for path in project.says:
        match = re.search(project.version, texts.get(path, ""), re.MULTILINE)
        if match:
            major, minor = (group for group in match.groups() if group is not None)
            return int(major), int(minor)
    notes = [re.match(project.notes, path) for path in paths] if project.notes else []
    return max(((int(match[1]), int(match[2])) for match in notes if match), default=None)


def _number(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


def _nearest(recipes: list[dict], version: tuple[int, int] | None) -> tuple[str, dict]:
    """The recipe of that version, otherwise of the nearest older, otherwise of the nearest newer; None: the newest."""
    offered = {_number(at): (at, recipe) for recipe in recipes for at in recipe["versions"]}
    before = [at for at in offered if version is None or at <= version]
    return offered[max(before) if before else min(offered)]


def find_recipe(name: str, paths: list[str], texts: dict[str, str]) -> tuple[dict, str, str]:
    """The recipe called OWNER/NAME, NAME or either with @VERSION, or "auto": (recipe, its full name, the version that its
    install command gets). Raises UnknownRecipe."""
    asked, _, exact = name.partition("@")
    known = frozenset(paths)
    repos = [repo for repo in _PROJECTS if asked in (repo, repo.partition("/")[2])]
    if name == "auto":
        repos = [at for at in (_project_of(known),) if at]
    if not repos:
        names = ", ".join(repo.partition("/")[2] for repo in _PROJECTS)
        said = "this is not a checkout of a project with a recipe" if name == "auto" else f"there is no recipe '{name}'"
        raise UnknownRecipe(f"{said} (known: {names}); use --python and --setup instead")
    repo = repos[0]
    recipes = [recipe for recipe in environments.built_in_recipes() if recipe["repo"] == repo and "versions" in recipe]
    versions = [at for recipe in recipes for at in recipe["versions"]]
    if exact and exact not in versions:
        raise UnknownRecipe(f"there is no recipe '{name}'; versions of {repo}: {', '.join(versions)}")
    found = version_of(repo, known, texts)
    version, recipe = _nearest(recipes, _number(exact) if exact else found)
    return recipe, f"{repo}@{version}", "{}.{}".format(*found) if found else version
