"""Helpers for tests of set-ups and of choosing a Python: the project, environments, the cache."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sandboxes
from fewer import usually
from host import ROOT
from repos import Repo
from sandboxes import Sandbox

sys.path.append(str(ROOT / "python"))
from acr.grading.environments import key_of  # noqa: E402

BUBBLEWRAP = ["bubblewrap", "bubblewrap-user"]

FAST_C = """#include <Python.h>
static PyObject *twice(PyObject *self, PyObject *arg) { return PyNumber_Add(arg, arg); }
static PyMethodDef methods[] = {{"twice", twice, METH_O, NULL}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
"""
# A build makes a version file and a C extension; an editable install makes a path file.
BUILD = """import os, site, subprocess, sys, sysconfig, time
here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
with open("quick/_version.py", "w") as out:
    out.write("stamp = %d\\n" % time.time_ns())
if "--no-c" in sys.argv:
    with open("quick/_fast.py", "w") as out:
        out.write("def twice(number):\\n    return number + number\\n")
else:
    target = "quick/_fast" + sysconfig.get_config_var("EXT_SUFFIX")
    include = sysconfig.get_path("include")
    subprocess.run(["gcc", "-shared", "-fPIC", "-I" + include, "-o", target, "quick/_fast.c"], check=True)
if "--editable" in sys.argv:
    folder = sysconfig.get_path("purelib") if sys.prefix != sys.base_prefix else site.getusersitepackages()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "quick.pth"), "w") as out:
        out.write(here + "\\n")
"""
TREE: dict[str, str | bytes] = {
    "quick/__init__.py": "from ._version import stamp\nfrom ._fast import twice\n",
    "quick/_fast.c": FAST_C,
    "build.py": BUILD,
    ".gitignore": "*.so\n_version.py\n.venv/\n",
}


def every(names: list[str], *few: str) -> pytest.MarkDecorator:
    """Run a test once for each of these backends; by default only for the few, if the others take the same path."""
    return pytest.mark.parametrize("box", usually(few or names, names, str), indirect=True)


def owned(repo: Repo, box: Sandbox) -> Repo:
    """Give the repository to the user who runs the program."""
    if box.wrapper:
        sandboxes.give(repo.path, sandboxes.ORDINARY_USER)
    return repo


def cache(box: Sandbox) -> Path:
    """The folder in which trees and layers are cached."""
    return box.host.home / "cache" / "acr-host" / "sandbox"


def kept(box: Sandbox) -> set[str]:
    """The names of the cache's entries."""
    return {path.name for path in cache(box).iterdir()}


def left(box: Sandbox) -> set[str]:
    """Files of the cache that must not exist when no run is active."""
    return {name for name in kept(box) if name.startswith("tmp-") or name.endswith(".lock")}


def make_venv(path: Path, *options: str, python: str = "/usr/bin/python3") -> Path:
    """Create a virtual environment without pip; return its Python."""
    subprocess.run([python, "-m", "venv", "--without-pip", *options, str(path)], check=True)
    return path / "bin" / "python"


def make_environment(cache: Path, recipe: Mapping[str, Any]) -> Path:
    """The environment of a recipe as if the program had made it before, but without packages or pip, whose installation
    takes seconds; returns its Python."""
    python = make_venv(cache / "acr-host" / "environments" / key_of(dict(recipe)))
    (python.parents[1] / "acr-host-ready").touch()
    return python


def packages_of(python: Path) -> Path:
    """The folder of an environment's packages."""
    (folder,) = python.parents[1].glob("lib/*/site-packages")
    return folder
