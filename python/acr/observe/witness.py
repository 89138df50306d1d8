"""Watches a task's tests from inside: loaded as sitecustomize, before the runner and the project.

Files with tests get a statement around the body of each test, so that a test says itself how it ended, whatever the
runner says of it. Its reports are signed with a key that only this code knows, and judged by `acr.grading.trust`
outside. A body is a tuple, (number, kind, ...):

  ("module", path, tests)        a file with tests was compiled: how many it has    ("names", path, names)  theirs, some
  ("ok", path, name, "")         a test came to its end          ("raised", path, name, class)  an error left it
                                 with a fifth, "made": a function made it, which is not in the names
  ("doctest", path, name)        a doctest of a file that the patch left alone began
  ("foreign", path, name)        a test was called with other globals than its module's, or others say how it ended
  ("twice", path)                a module was run again          ("rewritten", path)  it was changed meanwhile
  ("rebound", path, name)        a name of the module is not what its text says
  ("replaced", name)             an assertion or a built-in name is not what it was
  ("asserts", name, digest)      a test calls an assertion of a file that the patch changed
  ("passed", test, name)         an assertion passed that does not hold
  ("reach", event, path, name)   a function that the patch changed took hold of frames, memory or another process
  ("shadow", name)               a module of the tree takes the place of an installed one
  ("agrees", class)              an object equals anything
  ("lost",)                      there were too many reports     ("broken", name)  the witness met what it cannot bear
  ("end",)                       the process came to its end by itself

`GIVEN` (a dict) is set before this text: folder, pattern (of files with tests), changed (paths), name.
"""
# It runs in Pythons from 3.6 on, and the files that it names of the package are put before it.

import _thread
import ast
import atexit
import builtins
import os
import re
import sys
import time
import types

from acr.observe.witness_assertions import Assertions
from acr.observe.witness_channel import Channel, Places, bare
from acr.observe.witness_tests import Tests
from acr.observe.witness_writer import DOORS, LAST, Writer

MAX_NAMES = 60  # of a report
REACHES = {
    "sys._getframe", "sys._current_frames", "gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace",
    "sys.setprofile", "code.__new__", "function.__new__", "sys.addaudithook",
}  # fmt: skip
STARTS = {"subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.spawn"}
OWN_FILES = re.compile(r"(?<![\w/])/(tmp|var)/[^\s'\"]*").sub  # what a test makes for itself
NAMES_TESTS = re.compile(r"(?i)(?<![a-z])tests?(?![a-z])|[*?]").search
FRAMES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame"}
CODES = {"__code__", "__defaults__", "__kwdefaults__"}
SHOWS = {"format_exc", "print_exc", "format_exception", "print_exception"}  # read lines of a traceback's files
DISCREET = (
    "logging", "collections", "typing.py", "enum.py", "warnings.py", "dataclasses.py", "functools.py", "abc.py",
    "contextlib.py", "unittest", "importlib", "<frozen", "threading.py", "types.py", "pickle.py", "copyreg.py",
    "asyncio", "subprocess.py", "multiprocessing", "site-packages", "dist-packages",
)  # fmt: skip
INHERITED = 0x1FE0000  # flags of code for what it imports from __future__


# What tests, runner and project can get hold of: it holds nothing, and asks the hook that is hidden in the interpreter.
SHELL = """
class Around:
    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        return None

    def __exit__(self, kind, error, trace, audit=audit, gate=gate):
        audit(gate, "ended", (self.number, kind), None)


class Guard(Around):
    __slots__ = ()

    def __exit__(self, kind, error, trace, audit=audit, gate=gate):
        audit(gate, "left", (self.number, kind), None)


def around(number, audit=audit, gate=gate, Around=Around):
    audit(gate, "around", number, None)
    return Around(number)


def asked(what, audit=audit, gate=gate):
    def ask(value, what=what, audit=audit, gate=gate):
        audit(gate, what, value, None)
        return value

    return ask


def last(what, audit=audit, gate=gate):
    def ask(value, what=what, audit=audit, gate=gate):
        audit(gate, what, value, None)
        return value[-1]

    return ask


def compile(
    source, filename, mode, flags=0, dont_inherit=False, optimize=-1, audit=audit, gate=gate, real=real, **more
):
    made = []
    audit(gate, "compile", (source, filename, mode, flags, dont_inherit, optimize), made)
    code, flags = made if made else (None, flags)
    return real(source, filename, mode, flags, True, optimize, **more) if code is None else code
"""


class Compiler:
    """Takes the place of `compile`: a file with tests is compiled as it lay on the disk when the tests began."""

    def __init__(self, channel, places, tests, writer):
        self.channel, self.places, self.tests, self.writer = channel, places, tests, writer
        self.compile, self.started = builtins.compile, time.time()
        self.open, self.read, self.fstat, self.close = os.open, os.read, os.fstat, os.close

    def text_of(self, path):
        """The file as it lies in the tree; None: it was written to since the tests began."""
        fd = self.open(self.places.tree + path, os.O_RDONLY)
        try:
            about = self.fstat(fd)
            return self.read(fd, about.st_size + 1) if about.st_ctime <= self.started else None
        finally:
            self.close(fd)

    def tree_of(self, text, filename, source, caller):
        """Its syntax tree, with the runner's own rewriting of assertions where that is who asks."""
        tree = self.compile(text, filename, "exec", ast.PyCF_ONLY_AST, True)
        runner = sys.modules.get("_pytest.assertion.rewrite")
        if not isinstance(source, ast.AST) or runner is None or caller.f_globals is not vars(runner):
            return tree
        if self.places.inside(caller.f_code.co_filename) is None:
            config = caller.f_locals.get("config")
            try:
                runner.rewrite_asserts(tree, text, filename, config)
            except TypeError:  # before version 5
                tree = self.compile(text, filename, "exec", ast.PyCF_ONLY_AST, True)
                runner.rewrite_asserts(tree, caller.f_locals.get("fn"), config)
        return tree

    def of_tests(self, source, filename, path, flags, optimize, caller):
        """The code of a file with tests; None: it has none."""
        self.tests.assertions.look()
        text = self.text_of(path)
        if text is None:
            self.channel.tell_once("rewritten", path)
            return None
        tree, first = self.tree_of(text, filename, source, caller), len(self.tests.marks)
        number, names = self.writer.write(tree, path)
        code = self.quietly(self.writer.placed, self.compile(tree, filename, "exec", flags, True, optimize))
        self.writer.find_codes(code, first)
        if number:
            self.channel.tell("module", path, number)
        for at in range(0, len(names), MAX_NAMES):
            self.channel.tell("names", path, [name.split(".")[-1] for name in names[at : at + MAX_NAMES]])
        return code

    def code_of(self, given, caller):
        """(the code that stands for what is compiled, or None; its flags)."""
        source, filename, mode, flags, dont_inherit, optimize = given
        if not dont_inherit:
            flags |= caller.f_code.co_flags & INHERITED
        if type(filename) is str and filename.startswith("<doctest ") and mode == "single":
            self.doctest(filename, caller)
        path = self.places.inside(filename) if mode == "exec" and not flags & 0x400 and self.channel.is_here() else None
        if path is not None:
            self.tests.assertions.learn()
        if path is not None and self.places.is_test_file(path) and path.endswith(".py"):
            try:
                return self.of_tests(source, filename, path, flags, optimize, caller), flags
            except (SyntaxError, ValueError, TypeError, OSError):
                pass
        return None, flags

    def doctest(self, filename, caller):
        """An example of a doctest begins; only the log says how it ends."""
        module = sys.modules.get("doctest")
        test = caller.f_locals.get("test")
        is_own = module is not None and caller.f_globals is vars(module)
        if is_own and "doctest" in self.tests.assertions.known and type(test).__name__ == "DocTest":
            path = self.places.inside(test.filename)
            if path is not None and not self.places.is_changed(test.filename):
                self.channel.tell_once("doctest", path, str(test.name))


class Audit:
    """Tells what functions that the patch changed take hold of."""

    def __init__(self, channel, places, tests):
        self.channel, self.places, self.tests = channel, places, tests
        self.busy, self.proc = set(), re.compile("/proc/(self|thread|[0-9])").match
        self.getframe, self.stat, self.nodes = sys._getframe, os.stat, {}
        self.fsdecode, self.basename, self.shell = os.fsdecode, os.path.basename, []

    def take(self, event, arguments):
        if event == "open":
            name = arguments[0]
            name = self.fsdecode(name) if isinstance(name, (str, bytes)) else ""
            if not self.is_odd(name):
                return
            event = "open of " + name
        elif event in STARTS:
            if not NAMES_TESTS(OWN_FILES("", ascii(arguments[:2]))):
                return
        elif event.startswith("object.__"):
            if not self.is_reach(event, arguments):
                return
            event = event[7:] + " of " + arguments[1]
        elif event not in REACHES and not event.startswith("ctypes."):
            return
        thread = _thread.get_ident()
        if thread in self.busy or not self.channel.is_here():
            return
        self.busy.add(thread)
        try:
            self.look(event, self.getframe(2))
        except (ValueError, TypeError, OSError, AttributeError):
            pass
        finally:
            self.busy.discard(thread)

    def is_reach(self, event, arguments):
        """Whether frames are read, or the code of a test or assertion read or replaced."""
        name = arguments[1]
        if name in FRAMES:
            return True
        if name not in CODES:
            return False
        if event != "object.__getattr__":
            if any(arguments[0] is at for at in self.shell):
                self.channel.tell_once("broken", "its functions were changed")
            return True
        thread = _thread.get_ident()
        if name != "__code__" or thread in self.busy or type(arguments[0]) is not types.FunctionType:
            return False
        self.busy.add(thread)
        try:
            path = self.places.inside(arguments[0].__code__.co_filename)
        finally:
            self.busy.discard(thread)
        return path is not None and self.places.is_test_file(path) is not None

    def is_odd(self, name):
        """Whether a file is the process's, the witness's or one with the tests that run."""
        if self.proc(name) or name.startswith(self.places.folder):
            return True
        for path in self.tests.whole:
            if path not in self.nodes:
                self.nodes[path] = self.node(self.places.tree + path)
        if self.basename(name) in map(self.basename, self.tests.whole):
            return self.places.inside(name) in self.tests.whole or not name.startswith("/")
        return self.nodes and self.node(name) in self.nodes.values()

    def node(self, name):
        try:
            about = self.stat(name)
        except (OSError, ValueError):
            return None
        return about.st_dev, about.st_ino

    def look(self, event, frame):
        """Tells if a changed function is behind it, but for libraries that may do so."""
        places, depth, name = self.places, 0, ""
        while frame is not None and not places.is_changed(frame.f_code.co_filename):
            name, depth = frame.f_code.co_filename, depth + 1
            is_loader = frame.f_code.co_name == "get_data" and not is_frozen(frame.f_back)
            is_discreet = any(at in name for at in DISCREET) and not is_loader
            is_discreet = is_discreet and not (event in STARTS and name.endswith("subprocess.py"))
            shows = frame.f_code.co_name in SHOWS
            if event.startswith("__getattr__ of"):
                is_discreet = depth > 1
            if places.inside(name) is not None or is_discreet or shows:
                return
            frame = frame.f_back
        if frame is not None:
            self.channel.tell_once("reach", event, places.inside(frame.f_code.co_filename), frame.f_code.co_name)


def is_frozen(frame):
    return frame is not None and frame.f_code.co_filename.startswith("<frozen")


def hook_of(gate, doors, audit, codes):
    """The hook in which the witness hides: it answers what the shell asks, and looks at other events."""
    busy, getframe, get_ident = audit.busy, sys._getframe, _thread.get_ident
    depth = 2 if hasattr(sys, "addaudithook") else 3
    take, compiles, tell_once = audit.take, doors.pop("compile"), audit.channel.tell_once

    def quietly(function, *arguments):
        """Calls it, and lets what it does go unheard."""
        thread = get_ident()
        is_busy = thread in busy
        busy.add(thread)
        try:
            return function(*arguments)
        finally:
            if not is_busy:
                busy.discard(thread)

    def hook(event, arguments):
        if event != gate:
            return take(event, arguments)
        what, value, made = arguments
        frame, asker = quietly(getframe, depth + 1), quietly(getframe, depth)
        if not any(asker.f_code is code for code in codes):
            tell_once("broken", "its functions were replaced")
        if made is not None:
            return made.extend(compiles(value, frame))
        try:
            doors[what](value, frame)
        except Exception:
            tell_once("broken", str(what))

    return hook, quietly


def code_in(value):
    """The code of the functions of the shell."""
    if isinstance(value, type):
        value = value.__dict__["__exit__"]
    return value.__code__


def is_runner(tree):
    """Whether the tree's own runner is what runs: its tests look at how it does so."""
    return any(os.path.isdir(os.path.join(tree, at, "_pytest")) for at in ("", "src"))


def begin(given, key):
    """Starts to watch this process."""
    channel, places = bare(Channel(given["folder"], key)), bare(Places(given))
    assertions = bare(Assertions(channel, places))
    tests = bare(Tests(channel, places, assertions))
    writer = bare(Writer(given["name"], tests, is_runner(places.tree)))
    compiler = bare(Compiler(channel, places, tests, writer))
    doors, codes = {name: getattr(tests, name) for name in (*DOORS, "ended", "left") if name != "guard"}, []
    gate, real, audit = given["name"] + "!", builtins.compile, bare(Audit(channel, places, tests))
    hook, compiler.quietly = hook_of(gate, {**doors, "compile": compiler.code_of}, audit, codes)
    call = getattr(sys, "audit", None) or (lambda event, *arguments: hook(event, arguments))
    shell = {"__name__": "builtins", "audit": call, "gate": gate, "real": real}
    exec(real(SHELL, "<string>", "exec"), shell)
    own = {"around": shell["around"], "guard": shell["Guard"]}
    writer.doors[0] = (None, *(own.get(at) or shell["last" if at in LAST else "asked"](at) for at in DOORS))
    compile = shell["compile"]
    codes.extend(map(code_in, [*writer.doors[0][1:], compile, shell["Around"]]))
    audit.shell.extend([*writer.doors[0][1:], compile])
    audit.shell.extend(shell[at].__dict__["__exit__"] for at in ("Around", "Guard"))
    if writer.is_by_name:
        vars(builtins)[given["name"]] = writer.doors[0]
    else:
        sys.dont_write_bytecode = True  # what holds functions cannot be written
    compile.__module__, compile.__qualname__, compile.__doc__ = "builtins", "compile", real.__doc__
    builtins.compile = compile
    assertions.forget("builtins.compile")
    assertions.hold("builtins", {"compile": compile})
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(hook)
    find_shadows(given, places.tree, channel.tell)
    atexit.register(lambda: (assertions.look(), channel.tell("end")))


def find_shadows(given, tree, tell):
    """Modules at the top of the tree that are installed, too, or Python's own."""
    from importlib.machinery import PathFinder

    elsewhere = [at for at in sys.path if at and not (os.path.realpath(at) + os.sep).startswith(tree)]
    for name in sorted(
        {path.split("/", 2)[1 if path.startswith(("src/", "lib/")) else 0] for path in given["changed"]}
    ):
        name = name.split(".")[0]
        places = [os.path.join(tree, at, name) for at in ("", "src", "lib")]
        if not name.isidentifier() or not any(
            os.path.exists(at + end) for at in places for end in (".py", "/__init__.py")
        ):
            continue
        found = PathFinder.find_spec(name, elsewhere)
        origin = os.path.realpath(getattr(found, "origin", None) or os.curdir)
        if name in sys.builtin_module_names or (found is not None and not origin.startswith(tree)):
            tell("shadow", name)


def take_key(folder):
    """The key, which the first Python of the tests takes; None: another has it, or this is not the runner's."""
    path = os.path.join(folder, "key")
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        if any(os.path.basename(word) in (b"tox", b"env", b"pip") for word in words[:3]):
            return None
        with open(path, "rb") as file:
            key = file.read()
        os.unlink(path)
        return key
    except OSError:
        return None


def leave_no_trace(folder):
    """Takes the folder from the paths, so that the tests find Python as it is without."""
    sys.path[:] = [at for at in sys.path if at != folder]
    sys.path_importer_cache.pop(folder, None)
    left = [at for at in os.environ.get("PYTHONPATH", "").split(os.pathsep) if at and at != folder]
    os.environ.pop("PYTHONPATH", None)
    if left:
        os.environ["PYTHONPATH"] = os.pathsep.join(left)
    sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError:  # an empty one, for the import that goes on
        sys.modules["sitecustomize"] = type(sys)("sitecustomize")


def start(given):
    key = take_key(given["folder"])
    if key is None:
        return
    leave_no_trace(given["folder"])
    if key:
        begin(given, key)


if "GIVEN" in globals():
    start(globals().pop("GIVEN"))
