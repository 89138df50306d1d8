"""The names that plain code may use: allow-lists of builtins, modules, attributes and special methods."""

from __future__ import annotations

import builtins
import json
import re
import sys
import types
import typing
from pathlib import Path

_JSON = json.loads(Path(__file__).with_name("plain_names.json").read_text(encoding="utf-8"))
_LISTS = {name: frozenset(" ".join(lines).split()) for name, lines in _JSON.items()}
BUILTINS = frozenset(dir(builtins))
ERRORS = {n for n in BUILTINS if n[0].isupper()} - {
    *"SystemExit KeyboardInterrupt GeneratorExit AssertionError".split()
}
LIBRARY = frozenset(getattr(sys, "stdlib_module_names", ()))  # from 3.10 on
# Builtins that plain code may load, also those of Python 2; modules that it may import; attributes of any value, and
# special methods that it may only call on itself.
_WANTED = ("calls", "old", "modules", "attributes", "inherited")
CALLS, OLD, MODULES, ATTRIBUTES, INHERITED = (_LISTS[at] for at in _WANTED)
# The only names that may be used from these modules, and the names that may not be used from others.
NARROW = {name[7:]: words for name, words in _LISTS.items() if name.startswith("narrow ")}
NARROW["typing"] = frozenset(typing.__all__) - {"get_type_hints", "ForwardRef"} | {"TYPE_CHECKING"}
# Names of modules that may not be used; and modules that let code change or inspect all of the process.
REFUSED, FOREIGN = _LISTS["refused"], _LISTS["foreign"]
INSPECTS = re.compile(r"\binspect\.(?:stack|trace|get(?:members|module|source|closure|file|attr)\w*)$")
# Attributes to which Python or a package gives a meaning; other attributes of the same form are the project's own.
_TYPES = [getattr(types, at) for at in types.__all__ if at.endswith("Type")] + [type, BaseException, property, super]
SPECIAL = _LISTS["special"].union(*map(dir, _TYPES))
# Classes and functions of the library in pickles of ordinary data, and modules that plain code has no reason to import.
PICKLED, IMPORTED = (sorted(_LISTS[at]) for at in ("pickled", "imported"))
HIDDEN = re.compile(
    r"(?:f|gi|cr|ag|tb)_(?:back|frame|locals|globals|builtins|code|next|lineno|trace)$|_getframe|^settrace$|^setprofile$"
    r"|^addaudithook$|^get_objects$|^get_referr?e[rn]ts?$|^func_|^co_[a-z]+$|^_exit$|^modules$|^gettrace$|^getprofile$"
    r"|^(?:exec|spawn|posix_spawn)[lv]p?e?$|^fork$|^get_stack$|^extract_stack$|^walk_(?:stack|tb)$|^currentframe$"
    r"|^exec_?$|subprocess_(?:exec|shell)$|^get_type_hints$|^(?:Base|Dict)Configurator$|^(?:dict|file)Config$"
    r"|^findCaller$|^print_stack$|^get_coro$|^get_(?:function|method)_\w+$|^getouterframes$|^getinnerframes$"
)
# Modules inside allowed packages that can affect more than plain code.
INNER = re.compile(
    r"^distutils\.|\.(?:spawn|subprocess|exec_command|ctypeslib|config|builtins|memmap|base_subprocess|unix_events)(?:\.|$)"
)
# Functions and methods that read, write or open a file, and context managers that change the library while they are open.
READS, WRITES, OPENS, HOLDS = (_LISTS[at] for at in ("reads", "writes", "opens", "holds"))
# Functions of the library that change state of the whole process.
SHARED = re.compile(
    r"^(?:set(?!diff|xor)|add(?!$)|register|unregister|disable|enable|install|uninstall|reset|filter|simplefilter|capture|basicConfig|"
    r"seterr|chdir|umask|putenv|unsetenv|seed|pickle|constructor|init|stopListening)(?![a-z]*_?size)"
)
# Methods that change a library object which others may share, such as a logger or a table.
CHANGES = re.compile(
    r"^(?:set|add|remove|clear)[A-Z_]|^(?:stop|close|detach|reconfigure|append|insert|extend|clear|update|remove|pop|popitem|setdefault"
    r"|add|discard)$"
)
# For modules that know the surroundings, the names that do not ask for them. Names that ask only in a branch; names of the
# machine; other names that ask; calls that look at a file, or make a path absolute; and what a logger is used for.
OWN = {name[4:]: words for name, words in _LISTS.items() if name.startswith("own ")}
_ASKS = ("moments", "machine", "asking", "looks", "resolves", "logs")
MOMENTS, MACHINE, ASKING, LOOKS, RESOLVES, LOGS = (_LISTS[at] for at in _ASKS)
DOUBLES = _LISTS["doubles"]  # classes of the objects that tests use in place of files
# Methods that decide what is equal, true or caught: plain code has no reason to name them in a text.
# Then methods that a class may define, or have under two names.
DECIDING, METHODS, ALIASES = (_LISTS[at] for at in ("deciding", "methods", "aliases"))
# Data files that a patch may change besides modules.
DATA = re.compile(
    r"\.(?:rst|txt|md|html?|css|json|toml|cfg|ini|ya?ml|po|pot|svg|tex\w*|inc|jinja|in|sty|csv|tsv|xml|sql)$"
    r"|(?:^|/)(?:CHANGES|AUTHORS|changelog|\.mailmap)[^/]*$",
    re.I,
)
DOCUMENTATION = re.compile(r"^(?:docs?|changelog|changes|examples?|\.github)/|^[^/]*$(?<!\.py)|^/dev/null$")
OPTIONS = re.compile(r"(?:^|/)(?:tox\.ini|setup\.cfg|pyproject\.toml)$")  # files with tables for pytest
# Files that Python or a test runner reads at its start.
STARTS = re.compile(
    r"(?:^|/)(?:sitecustomize|usercustomize|conftest|__main__)\.py$|\.pth$|(?:^|/)\.?pytest\.\w+$"
    r"|\.(?:egg|dist)-info/"
)


def pytest_options(text: bytes | None) -> list[bytes]:
    """The tables of a settings file that pytest reads."""
    tables = re.split(rb"^(?=\s*\[)", text or b"", flags=re.M)
    return [at for at in tables if re.match(rb"\s*\[\s*(?:tool\s*[.:]\s*)?.?pytest", at)]


def fields(text: str) -> list[str]:
    """The attributes that a text reads if the text is used as a format."""
    return [at for field in re.findall(r"\{([^{}:!]*)", text) for at in re.split(r"[.\[\]]+", field)[1:]]
