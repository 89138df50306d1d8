"""The names that plain code may use: allow-lists of builtins, modules, attributes, special methods and decorators."""

from __future__ import annotations

import ast
import builtins
import operator
import re
import sys
import typing

BUILTINS = frozenset(dir(builtins))
CALLS = frozenset(
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float "
    "format frozenset getattr hasattr hash hex int isinstance issubclass iter len list map max memoryview min next "
    "object oct ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super "
    "tuple type zip open delattr id NotImplemented Ellipsis __name__ __file__ __doc__ __debug__ __class__".split()
)
ERRORS = frozenset(n for n in BUILTINS if n[0].isupper()) - {
    "SystemExit", "KeyboardInterrupt", "GeneratorExit", "AssertionError",
}  # fmt: skip
LIBRARY = frozenset(getattr(sys, "stdlib_module_names", ()))  # from 3.10 on
MODULES = frozenset(
    "__future__ abc argparse array ast asyncio base64 binascii bisect calendar cmath codecs collections colorsys "
    "configparser contextlib contextvars copy csv dataclasses datetime decimal difflib email enum errno fnmatch "
    "fractions functools glob gzip hashlib heapq hmac html http inspect io ipaddress itertools json keyword locale logging math "
    "mimetypes numbers numpy operator os pathlib platform posixpath pprint queue random re distutils packaging six "
    "socket ssl exceptiongroup readline reprlib secrets shlex stat statistics string struct sys tempfile textwrap "
    "threading time token tokenize traceback types typing typing_extensions unicodedata urllib uuid warnings weakref "
    "xml zipfile zlib".split()
)
# The only names that may be used from these modules.
NARROW = {
    "sys": frozenset(
        "stdin stdout stderr version_info version platform maxsize byteorder float_info exc_info "
        "getdefaultencoding getfilesystemencoding __stdout__ __stderr__ getrecursionlimit maxunicode intern hexversion "
        "implementation builtin_module_names".split()
    ),
    "os": frozenset(
        "path sep linesep getcwd listdir walk fspath fsdecode fsencode pathsep name stat lstat PathLike scandir curdir "
        "pardir getenv devnull altsep makedirs mkdir extsep strerror error".split()
    ),
    "io": frozenset("StringIO BytesIO TextIOWrapper SEEK_SET".split()),
    "typing": (frozenset(typing.__all__) | {"TYPE_CHECKING"}) - {"get_type_hints", "ForwardRef"},
    "string": frozenset(
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation whitespace printable Template "
        "capwords".split()
    ),
    "dataclasses": frozenset(
        "dataclass field fields replace asdict astuple is_dataclass MISSING KW_ONLY InitVar".split()
    ),
    "types": frozenset("MethodType GeneratorType SimpleNamespace MappingProxyType BuiltinFunctionType".split()),
    "threading": frozenset("Lock RLock local current_thread Event Condition".split()),
    "traceback": frozenset("format_exception format_exc format_exception_only print_exc".split()),
    "time": frozenset(
        "time sleep monotonic perf_counter strftime gmtime localtime time_ns timezone altzone daylight tzname".split()
    ),
    "operator": frozenset(dir(operator)) - {"attrgetter", "methodcaller"},
    "weakref": frozenset("ref WeakMethod WeakKeyDictionary WeakValueDictionary WeakSet".split()),
    "ast": frozenset(dir(ast)),
    "distutils": frozenset(["version"]),
    "distutils.version": frozenset("LooseVersion StrictVersion".split()),
    "distutils.util": frozenset(["strtobool"]),
    "inspect": frozenset(
        "iscoroutinefunction isawaitable isgenerator isgeneratorfunction iscoroutine signature Parameter isclass "
        "isfunction ismethod isasyncgenfunction isasyncgen getdoc cleandoc isabstract isbuiltin isroutine".split()
    ),
}
ATTRIBUTES = frozenset(
    "__name__ __class__ __doc__ __init__ __new__ __iter__ __next__ __len__ __module__ __qualname__ __repr__ __str__ "
    "__cause__ __version__ __enter__ __exit__ __call__ __getitem__ __setitem__ __add__ __mul__ __sub__ __neg__ "
    "__annotations__ __wrapped__ __file__ __all__ __array_ufunc__ __array__ __eq__ __hash__ __setstate__ __getstate__ "
    "__reduce__ __post_init__ __init_subclass__ __args__ __origin__ __slots__ __stdout__ __stderr__ __self__ "
    "__func__".split()
)
HIDDEN = re.compile(
    r"(?:f|gi|cr|ag|tb)_(?:back|frame|locals|globals|builtins|code|next|lineno|trace)$|_getframe|^settrace$|^setprofile$"
    r"|^addaudithook$|^get_objects$|^get_referr?e[rn]ts?$|^func_|^co_[a-z]+$|^_exit$|^modules$|^gettrace$|^getprofile$"
    r"|^(?:exec|spawn|posix_spawn)[lv]p?e?$|^fork$|^get_stack$|^extract_stack$|^walk_(?:stack|tb)$|^currentframe$"
    r"|^exec_?$|subprocess_(?:exec|shell)$|^get_type_hints$|^(?:Base|Dict)Configurator$|^(?:dict|file)Config$"
    r"|^findCaller$|^getouterframes$|^getinnerframes$"
)
# Modules inside allowed packages that can affect more than plain code.
INNER = re.compile(
    r"^distutils\.|\.(?:spawn|subprocess|exec_command|ctypeslib|config|builtins|memmap|base_subprocess|unix_events)(?:\.|$)"
)
# Methods and functions that change a container, or that read, write or open a file.
MUTATES = {"append", "insert", "extend", "clear", "update", "remove", "pop", "popitem", "setdefault", "add", "discard"}
READS = {"open", "read_text", "read_bytes", "getline", "getlines", "urlopen"}
WRITES = {
    "write_text", "write_bytes", "unlink", "rmdir", "symlink_to", "hardlink_to", "touch", "rename", "chmod", "urlretrieve",
    "extractall", "FileHandler", "RotatingFileHandler", "TimedRotatingFileHandler", "WatchedFileHandler",
}  # fmt: skip
OPENS = {"ZipFile", "GzipFile", "BZ2File", "LZMAFile", "TarFile", "FileIO", "fdopen", "open_memmap", "memmap"}
# Context managers that change the state of the library until their block ends.
HOLDS = {"catch_warnings", "localcontext", "redirect_stdout", "redirect_stderr", "chdir", "ExitStack"}
# Functions of the library that change state of the whole process.
SHARED = re.compile(
    r"^(?:set|add|register|unregister|disable|enable|install|uninstall|reset|filter|simplefilter|capture|basicConfig|"
    r"seterr|chdir|umask|putenv|unsetenv|seed|pickle|constructor|init|stopListening)(?![a-z]*_?size)"
)
# Methods that change a library object which others may share, such as a logger.
CHANGES = re.compile(r"^(?:set|add|remove|clear)[A-Z_]")
# Data of the library that controls its behaviour.
KEPT = frozenset("warnings.filters warnings.onceregistry logging.root logging.lastResort".split())
# Names that identify the machine or the interpreter that runs the code.
MACHINE = {("sys", name) for name in ("version_info", "hexversion", "platform", "implementation")} | {("os", "name")}
# Methods that decide what is equal, true or caught: plain code has no reason to name them in a text.
DECIDING = frozenset(
    "eq ne lt le gt ge bool contains hash len getattr getattribute instancecheck subclasscheck exit reduce setstate".split()
)
METHODS = frozenset(
    "init new iter next len repr str enter exit call getitem setitem delitem add radd sub rsub mul rmul truediv rtruediv "
    "floordiv mod pow neg pos abs and or xor invert post_init init_subclass await aiter anext aenter aexit reduce "
    "reduce_ex getstate setstate deepcopy copy lt le gt ge int float index round fspath format bytes complex array "
    "array_ufunc array_function set_name get set reversed iadd isub imul iand ior matmul getnewargs rpow sizeof missing "
    "eq ne hash contains bool getattr delete length_hint ror rand rxor rmod rfloordiv".split()
)
DECORATORS = frozenset(
    "property staticmethod classmethod functools.wraps wraps functools.lru_cache lru_cache functools.cached_property "
    "cached_property functools.cache contextmanager contextlib.contextmanager abstractmethod abc.abstractmethod "
    "dataclass dataclasses.dataclass overload typing.overload cacheit pytest.fixture override asyncio.coroutine "
    "total_ordering functools.total_ordering functools.singledispatch singledispatch".split()
)
BASES = frozenset(
    "object Exception ValueError TypeError KeyError AttributeError RuntimeError Warning UserWarning DeprecationWarning "
    "NamedTuple Enum IntEnum Protocol ABC Generic LookupError IndexError OSError NotImplementedError TypedDict".split()
)
# Data files that a patch may change besides modules.
DATA = re.compile(
    r"\.(?:rst|txt|md|html?|css|json|toml|cfg|ini|ya?ml|po|pot|svg|tex\w*|inc|jinja|in|sty|csv|tsv|xml|sql)$"
    r"|(?:^|/)(?:CHANGES|AUTHORS|changelog|\.mailmap)[^/]*$",
    re.I,
)
DOCUMENTATION = re.compile(r"^(?:docs?|changelog|changes|examples?|\.github)/|^[^/]*$(?<!\.py)|^/dev/null$")
# Files that Python or a test runner reads at its start.
STARTS = re.compile(
    r"(?:^|/)(?:sitecustomize|usercustomize|conftest|__main__)\.py$|\.pth$|(?:^|/)(?:tox|setup)\.(?:ini|cfg)$|(?:^|/)\.?pytest\.\w+$"
    r"|\.(?:egg|dist)-info/"
)


def pytest_options(path: str, text: bytes | None) -> list[bytes]:
    """The tables of a pyproject.toml that pytest reads; none of another file."""
    tables = re.split(rb"^(?=\s*\[)", text or b"", flags=re.M) if path.endswith("pyproject.toml") else []
    return [at for at in tables if re.match(rb"\s*\[\s*tool\s*\.\s*.?pytest", at)]


def fields(text: str) -> list[str]:
    """The attributes that a text asks for where it is used as a format."""
    return [at for field in re.findall(r"\{([^{}:!]*)", text) for at in re.split(r"[.\[\]]+", field)[1:]]


def reads_only(mode: ast.expr) -> bool:
    """Whether a mode comes from the caller, or begins with "r"."""
    if isinstance(mode, ast.BinOp):
        mode = mode.left
    elif isinstance(mode, ast.JoinedStr):
        mode = mode.values[0]
    else:
        return isinstance(mode, ast.Name)
    return isinstance(mode, ast.Constant) and mode.value == "r"
