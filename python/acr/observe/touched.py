"""What the project takes hold of, what the script reads, and what is not Python's own any more."""

import _thread
import ast
import os
import sys
import types

REACHES = {
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "gc.get_objects", "gc.get_referrers",
    "gc.get_referents", "sys.settrace", "sys.setprofile", "object.__getattr__", "code.__new__", "function.__new__",
}  # fmt: skip
LISTS = ("os.listdir", "os.scandir", "os.walk", "glob.glob", "pathlib.Path.glob", "pathlib.Path.rglob")
QUOTES = ("traceback.py", "warnings.py", "unittest")


class Audit:
    """Reports what the project takes hold of, and what the script reads."""

    def __init__(self, channel, places):
        self.channel, self.places, self.seen, self.busy = channel, places, set(), set()
        self.getframe = sys._getframe

    def hook(self, event, arguments):
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

    def reach(self, what, frame):
        while frame is not None and os.path.basename(frame.f_code.co_filename) == "inspect.py":
            frame = frame.f_back
        where = self.places.of(frame.f_code.co_filename) if frame is not None else ""
        if where not in ("", "=") and (what, where, frame.f_lineno) not in self.seen and len(self.seen) < 400:
            self.seen.add((what, where, frame.f_lineno))
            self.channel.send("reach", what[:200], where, frame.f_lineno)

    def read(self, event, path, frame):
        real = os.path.realpath(path)
        if not (real + os.sep).startswith(self.places.tree):
            return
        inside = (real + os.sep)[len(self.places.tree) :].rstrip(os.sep)
        is_source = inside.endswith((".py", ".pyx", ".pyi", ".pyc")) or inside.split(os.sep)[0] == ".git"
        if event == "open" and not is_source and real != self.places.script:
            return
        while frame is not None and self.places.of(frame.f_code.co_filename) == "":
            name = frame.f_code.co_filename
            if name.startswith("<frozen importlib") or any(at in name for at in QUOTES):
                return
            frame = frame.f_back
        if real == self.places.script:
            self.reach("open of the script", frame)
        elif frame is not None and self.places.of(frame.f_code.co_filename) == "=" and inside not in self.seen:
            self.seen.add(inside)
            self.channel.send("read", event, inside[:300])


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
        self.was = {name: dict(vars(module)) for name, module in list(sys.modules.items()) if name != "__main__"}
        self.values = {"sys.executable": sys.executable}
        self.environment = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}

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
                    inner = [at for at, held in list(vars(value).items()) if self.is_projects(held)]
                    found.extend(".".join((name, key, at)) for at in inner)
        found.extend(name for name, value in self.values.items() if getattr(sys, name[4:]) != value)
        now = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
        names = sorted(set(now) | set(self.environment))
        found.extend("os.environ: " + name for name in names if now.get(name) != self.environment.get(name))
        return found[:40]

    def where(self, value):
        if isinstance(value, types.FunctionType):
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
