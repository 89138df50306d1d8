"""The command `acr-host` of a wheel: starts the program in `host/` with the Python that has the wheel."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_HOST = Path(__file__).with_name("host")


def _libpython() -> Path:
    """The shared library of this Python. Errors: OSError, whose message says what to do."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    folders = [sysconfig.get_config_var("LIBDIR") or "", f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}"]
    found = [path for path in (Path(folder, name) for folder in folders) if ".so" in name and path.is_file()]
    if found:
        return found[0]
    version = "{}.{}".format(*sys.version_info)
    remedy = f"apt-get install libpython{version}" if sys.base_prefix == "/usr" else "build Python with --enable-shared"
    raise OSError(f"the Python in {sys.base_prefix} has no shared library, libpython{version}.so.1.0: {remedy}")


def own_program() -> str | None:
    """The program in this package, or None. Errors: OSError if this Python cannot be embedded.

    The program looks for libpython in `host/lib` first, so a link there selects this Python's.
    """
    program = _HOST / "bin" / "acr-host"
    if not program.is_file():
        return None
    library = _libpython()
    link = _HOST / "lib" / library.name
    if not link.exists() or not link.samefile(library):
        _make_link(link, library)
    return str(program)


def _make_link(link: Path, library: Path) -> None:
    link.parent.mkdir(exist_ok=True)
    temporary = link.with_name(f"{link.name}.{os.getpid()}")
    temporary.symlink_to(library)
    temporary.replace(link)


def main() -> None:
    """Replace this process by the program."""
    try:
        program = own_program()
        if not program:
            raise OSError("this package does not contain the program")
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        print(f"acr-host: {error}", file=sys.stderr)
        sys.exit(3)
