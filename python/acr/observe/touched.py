"""What the project takes hold of, what the script reads, and what is not Python's own any more."""

import _thread
import ast
import os
import sys
import types

REACHES = {
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "gc.get_objects", "gc.get_referrers",
    "gc.get_referents", "sys.settrace", "sys.setprofile", "object.__getattr__", "code.__new__", "function.__new__",
    "sys.addaudithook", "sys.monitoring.register_callback", "compile", "marshal.loads",
}  # fmt: skip
LISTS = ("os.listdir", "os.scandir", "os.walk", "glob.glob", "pathlib.Path.glob", "pathlib.Path.rglob")
QUOTES = ("traceback.py", "warnings.py", "unittest")
# Python's own modules that take hold of frames or code, and keep them for themselves.
DISCREET = (
    "logging", "collections", "typing.py", "enum.py", "warnings.py", "dataclasses.py", "functools.py", "abc.py",
    "contextlib.py", "unittest", "importlib", "<frozen", "threading.py", "types.py", "pickle.py", "copyreg.py",
    "asyncio",
)  # fmt: skip


class Audit:
    """Reports what the project takes hold of, and what the script reads."""

    def __init__(self, channel, places):
        self.channel, self.places, self.seen, self.busy = channel, places, set(), set()
        self.getframe = sys._getframe

    def hook(self, event, arguments):
        if event == "object.__getattr__" and arguments and arguments[0] is self.places.asked:
            return
        if event == "exec":
            self.note_module(self.getframe(1), arguments)
            return
        if event == "compile" and not self.is_passed_off(arguments):
            return
        if event not in REACHES and event not in LISTS and event != "open" and not event.startswith("ctypes."):
            return
        thread = _thread.get_ident()
        if thread in self.busy:
            return
        self.busy.add(thread)
        try:
            self.look(event, arguments, self.getframe(1))
        except (ValueError, TypeError, OSError):
            pass
        finally:
            self.busy.discard(thread)

    def look(self, event, arguments, frame):
        if event == "open" or event in LISTS:
            path = arguments[0] if arguments else "."
            path = os.fsdecode(path) if isinstance(path, (str, bytes)) else "." if path is None else ""
            if path.startswith("/proc/"):
                self.reach("open " + path, frame)
            elif path:
                self.read(event, path, frame)
        else:
            self.reach(" ".join([event] + [at for at in arguments[1:2] if type(at) is str]), frame)

    def is_passed_off(self, arguments):
        """Whether text is compiled under the name of a file of Python's own, or the script's."""
        name = arguments[1] if len(arguments) > 1 else None
        name = os.fsdecode(name) if isinstance(name, (str, bytes)) else ""
        return bool(name) and not name.startswith("<") and self.places.of(name) in ("", "=")

    def note_module(self, frame, arguments):
        """Remembers which file makes a module that is being imported."""
        code = arguments[0] if arguments else None
        if isinstance(code, types.CodeType) and frame.f_code.co_name == "_call_with_frames_removed":
            given = frame.f_locals.get("args", ())
            if len(given) == 2 and type(given[1]) is dict:
                self.places.modules[id(given[1])] = code.co_filename

    def keeps(self, what, frame):
        """Whether code of Python's own that takes hold of something keeps it for itself."""
        name, function = frame.f_code.co_filename, frame.f_code.co_name
        if function.startswith(("_task_get", "_task_print")):
            return False
        if name == "<observer>" or any(at in name for at in DISCREET):
            return True
        if name.endswith("inspect.py"):
            return function.startswith(("_has", "_signature", "is"))
        if function == "extract_stack" and is_debugged(sys.modules.get("asyncio")):
            return True  # the loop notes where each task was made
        return what != "sys._getframe" and name.endswith("traceback.py") and frame.f_back.f_code.co_filename == name

    def reach(self, what, frame):
        if frame is not None and self.places.of(frame.f_code.co_filename) == "" and self.keeps(what, frame):
            if what in ("sys.settrace", "sys.setprofile") and frame.f_code.co_filename.endswith("threading.py"):
                self.channel.send("replaced", "what watches threads")
            return
        frame = self.outside(frame)
        where, line = self.place(frame)
        if where not in ("", "=") and (what, where, line) not in self.seen and len(self.seen) < 400:
            self.seen.add((what, where, line))
            self.channel.send("reach", what[:200], where, line, *self.place(self.outside(frame.f_back)))

    def place(self, frame):
        return ("", 0) if frame is None else (self.places.of(frame.f_code.co_filename), frame.f_lineno)

    def outside(self, frame):
        """The frame, or the next one that is not Python's own code."""
        while frame is not None and self.places.of(frame.f_code.co_filename) == "":
            frame = frame.f_back
        return frame

    def read(self, event, path, frame):
        real = os.path.realpath(path)
        if real.endswith(".pyc") and self.places.is_new(real):
            self.channel.send("replaced", os.path.basename(real))
        if not (real + os.sep).startswith(self.places.tree):
            return
        inside = (real + os.sep)[len(self.places.tree) :].rstrip(os.sep)
        is_source = inside.endswith((".py", ".pyx", ".pyi", ".pyc")) or inside.split(os.sep)[0] == ".git"
        if event == "open" and real != self.places.script and (not is_source or self.places.is_new(real)):
            return  # or it was written by the run itself
        while frame is not None and self.places.of(frame.f_code.co_filename) == "":
            name = frame.f_code.co_filename
            if name.startswith("<frozen importlib") or (
                real != self.places.script and any(at in name for at in QUOTES)
            ):
                return
            frame = frame.f_back
        if real == self.places.script:
            self.reach("open of the script", frame)
        elif frame is not None and self.places.of(frame.f_code.co_filename) == "=" and inside not in self.seen:
            self.seen.add(inside)
            self.channel.send("read", event, inside[:300])


def is_debugged(asyncio):
    """Whether an event loop of Python's own runs in this thread in its debug mode."""
    loop = asyncio and asyncio._get_running_loop()
    return loop is not None and type(loop).__module__.startswith("asyncio.") and loop.get_debug()


FUNCTION_KINDS = (types.FunctionType, types.BuiltinFunctionType, type)


class Library:
    """Python's own functions as they were before the project was imported."""

    def __init__(self, source, places, observers):
        self.places = places
        self.observers = [(kind, dict(vars(kind))) for kind in observers]
        for name in sorted(imported(source)):
            if any(os.path.exists(places.tree + name.split(".")[0] + end) for end in ("", ".py")):
                continue  # the project's own, of whatever name
            try:
                __import__(name)
            except Exception:  # the script will say so itself
                pass
        places.remember_classes()
        self.was = {name: dict(vars(module)) for name, module in list(sys.modules.items()) if name != "__main__"}
        self.values = {"sys.executable": sys.executable}
        self.environment = obeyed()

    def replaced(self):
        """The names of what is not as it was, or is the project's."""
        found = ["the observer" for kind, was in self.observers if dict(vars(kind)) != was]
        for name, was in self.was.items():
            now = sys.modules.get(name)
            if now is None:
                continue
            for key, value in list(vars(now).items()):
                other = value is not was.get(key, value) and isinstance(was[key], FUNCTION_KINDS)
                if (other or self.is_projects(value)) and not self.is_scripts(value):
                    found.append(name + "." + key)
                elif isinstance(value, type) and value.__module__ == name:
                    held = [row for row in list(vars(value).items()) if isinstance(row[1], FUNCTION_KINDS)]
                    inner = [at for at, function in held if self.is_projects(function)]
                    found.extend(".".join((name, key, at)) for at in inner)
        found.extend(name for name, value in self.values.items() if getattr(sys, name[4:]) != value)
        now = obeyed()
        names = sorted(set(now) | set(self.environment))
        found.extend("os.environ: " + name for name in names if now.get(name) != self.environment.get(name))
        return found[:40]

    def where(self, value):
        if isinstance(value, types.FunctionType):
            self.places.asked = value  # thousands of them: Audit need not look at who reads this one's code
            return self.places.of(value.__code__.co_filename)
        if isinstance(value, type):
            file = getattr(sys.modules.get(value.__module__), "__file__", None)
            return self.places.of(file) if type(file) is str else ""
        return ""

    def is_projects(self, value):
        where = self.where(value)
        return where not in ("", "=") and not where.startswith("?<")

    def is_scripts(self, value):
        return self.where(value) == "="


def obeyed():
    """The variables that programs obey when they start."""
    names = [at for at in os.environ if at.startswith(("PYTHON", "LD_")) or at in ("HOME", "PATH")]
    return {name: os.environ[name] for name in names}


def imported(source):
    """The modules that the script imports, by their first names."""
    names = set()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(at.name for at in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
            names.add(node.module)
    return names
