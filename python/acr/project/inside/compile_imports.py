"""Compiles the files of a project that a script imports, and writes the bytecode below the home folder.

The project's Python gets this text as an argument, with the folders from which the project's modules can be imported
besides the current one. It reads the script, or its lines that begin an import, from standard input. Nothing of the project
is executed. The bytecode has the hash of its source file, so that Python ignores it where a patch has changed the source.
Imports are found in the text alone: a file that is missed is compiled again in each run, as if there was no bytecode.
"""

import importlib.util
import os
import py_compile
import re
import sys

MOST_FILES = 4000
IMPORTS = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\n)*)|import[ \t]+((?:[^\n\\]|\\\n)*))",
    re.M,
)


def imported(source, package):
    """The dotted names that a source text may import; names that are no modules are among them."""
    for dots, module, names, plain in IMPORTS.findall(source):
        if plain:
            yield from re.findall(r"[\w.]+", plain.decode("utf-8", "replace"))
            continue
        above = package[: len(package) - len(dots) + 1] if dots else []
        name = ".".join(above + module.decode("utf-8", "replace").split(".") if module else above)
        yield name
        for each in re.findall(r"\w+", names.decode("utf-8", "replace")):
            yield f"{name}.{each}"


def find(name, folders):
    """The file of a module and whether it is a package; None if the project has no such module."""
    for folder in folders:
        at = os.path.join(folder, *name.split("."))
        for path, is_package in ((os.path.join(at, "__init__.py"), True), (at + ".py", False)):
            # A bytecode folder must not hide a link to a folder.
            if os.path.isfile(path) and os.path.realpath(path) == os.path.abspath(path):
                return path, is_package
    return None


def compile_file(path, target):
    """Write the bytecode of a file. A file that cannot be compiled is left to the run that imports it."""
    try:
        py_compile.compile(path, target, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    except (py_compile.PyCompileError, OSError, ValueError, RecursionError, MemoryError):
        pass


def main(home, folders, script):
    """Compile what the script imports, and what these files import in turn."""
    tree, seen, compiled, waiting = os.getcwd(), set(), 0, list(imported(script, []))
    while waiting and compiled < MOST_FILES:
        name = waiting.pop()
        parent, _, _ = name.rpartition(".")
        found = None if name in seen or not name.strip(".") else find(name, folders)
        seen.add(name)
        if parent and parent not in seen:
            waiting.append(parent)
        if not found:
            continue
        path, is_package = found
        compiled += 1
        with open(path, "rb") as file:
            waiting += imported(file.read(), name.split(".") if is_package else name.split(".")[:-1])
        compile_file(path, os.path.join(home, os.path.relpath(importlib.util.cache_from_source(path), tree)))


if __name__ == "__main__":
    main(os.environ["HOME"], [os.getcwd(), *sys.argv[1:]], sys.stdin.buffer.read())
