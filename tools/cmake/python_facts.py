"""Print version, base prefix, header folder and shared library of the running Python, joined by ';'.

Exits 1 with one line on stderr that names the Debian package when something is missing.
"""

import importlib.util
import os
import sys
import sysconfig


def library() -> str | None:
    """The path of libpython as a shared library, or None."""
    names = [sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LDLIBRARY")]
    folders = [sysconfig.get_config_var("LIBDIR") or "", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        folders.insert(1, os.path.join("/usr/lib", multiarch))
    found = (os.path.join(f, n) for n in names if n and ".so" in n for f in folders)
    return next((path for path in found if os.path.exists(path)), None)


def main() -> None:
    """Print the facts, or say what is missing."""
    who = sys.executable
    if sys.version_info < (3, 9):  # noqa: UP036
        sys.exit(f"{who} is Python {sys.version.split()[0]}, at least 3.9 is needed")
    for module in ("pylint", "astroid"):
        if importlib.util.find_spec(module) is None:
            sys.exit(f"{who} cannot import {module}: apt-get install pylint (or pip install pylint for that Python)")
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        sys.exit(f"Python.h of {who} is missing: apt-get install python3-dev")
    lib = library()
    if lib is None:
        sys.exit(f"the shared library of {who} is missing: apt-get install libpython3-dev")
    version = "{}.{}".format(*sys.version_info)
    print(";".join((version, sys.base_prefix, include, lib)))


main()
