"""Records which lines below a folder each test runs. Uses sys.monitoring if Python has it (3.12), otherwise a trace
function: the C code beside this file if it can be loaded (CPython 3.9 to 3.11).

Records only lines of functions, because lines that run during an import say nothing about the test that happened to
import the module. Records all lines if ACR_TESTS_IMPORTS is set.
"""

import os
import re
import struct
import sys
import threading

TOOL, NAME = 3, "acr"  # a tool number that neither debuggers nor coverage tools use
IMPORTING = ("_call_with_frames_removed", "exec_module")  # functions of importlib and pytest that run a module's code
NOT_WANTED, IMPORTED, SCRIPT = 0, 1, 2  # answers to the C side in place of a File's address
OPTIMIZED = 1  # this flag is set only for the code of functions


class Tracer:
    """Lines between `begin` and `end`."""

    def __init__(self, root):
        self.root = os.path.realpath(root) + os.sep
        self.files = {}  # a code's file -> (path below the root, its lines), or None
        self.locals = {}
        self.has_imports = "ACR_TESTS_IMPORTS" in os.environ
        self.imports = 0  # number of running modules whose lines are not recorded
        self.native, self.buffers = None, {}  # path below the root -> the C side's File
        self.monitoring = getattr(sys, "monitoring", None)
        if self.monitoring is not None and not self._take_tool():
            self.monitoring = None
        if self.monitoring is None and sys.version_info < (3, 12):
            # `asked` keeps the bound method alive, which the C side does not
            self.native, self.asked = load_native(), self._answer

    def _take_tool(self):
        """Whether this tracer gets events, because a test may have freed the tool's number or given it to another tool."""
        if self.monitoring.get_tool(TOOL) is None:
            self.monitoring.use_tool_id(TOOL, NAME)
        if self.monitoring.get_tool(TOOL) != NAME:
            return False
        events = self.monitoring.events
        # Events of a generator that was started before the test.
        self.events = events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND
        self.monitoring.register_callback(TOOL, events.LINE, self._on_line)
        self.monitoring.register_callback(TOOL, events.PY_START, self._on_start)
        self.monitoring.register_callback(TOOL, events.PY_RESUME, self._on_start)
        self.monitoring.register_callback(TOOL, events.PY_THROW, self._on_throw)
        self.monitoring.register_callback(TOOL, events.PY_RETURN, self._on_end)
        self.monitoring.register_callback(TOOL, events.PY_UNWIND, self._on_end)
        return True

    def begin(self):
        """Starts tracing."""
        for found in self.files.values():
            if found:
                found[1].clear()
        self.imports = 0
        if self.monitoring is not None:
            self.is_on = self._take_tool()
            if self.is_on:
                self.monitoring.restart_events()
                self.monitoring.set_events(TOOL, self.events)
        elif self.native is not None:
            for buffer in self.buffers.values():
                buffer.clear()
            threading.settrace(self._join)
            self.native.acr_trace_begin(self.asked)
        else:
            threading.settrace(self._on_call)
            sys.settrace(self._on_call)

    def end(self):
        """Stops tracing; returns {path: "1-3,7"}."""
        if self.monitoring is not None:
            self.is_on = False
            if self.monitoring.get_tool(TOOL) == NAME:
                self.monitoring.set_events(TOOL, 0)
        elif self.native is not None:
            self.native.acr_trace_end()
            threading.settrace(None)
            return {path: buffer.ranges() for path, buffer in list(self.buffers.items()) if buffer.is_run()}
        else:
            sys.settrace(None)
            threading.settrace(None)
        return {found[0]: ranges(found[1]) for found in list(self.files.values()) if found and found[1]}

    def _find(self, name):
        if name not in self.files:
            path = os.path.realpath(name)
            below = path.startswith(self.root) and not name.startswith("<")
            self.files[name] = (path[len(self.root) :], set()) if below else None
        return self.files[name]

    def _join(self, frame, event, arg):
        self.native.acr_trace_join()

    def _answer(self, frame):
        code = frame.f_code
        if code.co_name == "<module>" and not self.has_imports:
            return IMPORTED if is_imported(frame) else SCRIPT
        found = self._find(code.co_filename) if self.has_imports or code.co_flags & OPTIMIZED else None
        if not found:
            return NOT_WANTED
        if found[0] not in self.buffers:
            self.buffers[found[0]] = Buffer(code.co_filename)
        return self.buffers[found[0]].address

    def _on_start(self, code, offset):
        if code.co_name != "<module>" or self.has_imports:
            if (self.has_imports or code.co_flags & OPTIMIZED) and self._find(code.co_filename):
                self.monitoring.set_local_events(TOOL, code, self.monitoring.events.LINE)
            return self.monitoring.DISABLE
        if not is_imported(sys._getframe(1)):
            return None
        self.imports += 1
        self.monitoring.set_local_events(TOOL, code, self.monitoring.events.PY_RETURN)
        return None

    def _on_throw(self, code, offset, exception):
        self._on_start(code, offset)  # this event cannot be disabled

    def _on_end(self, code, offset, value):
        if code.co_name == "<module>" and self.imports and is_imported(sys._getframe(1)):
            self.imports -= 1

    def _on_line(self, code, line):
        if not self.is_on:
            return self.monitoring.DISABLE
        if self.imports:
            return None
        found = self._find(code.co_filename)
        if found:
            found[1].add(line)
        return self.monitoring.DISABLE

    def _on_call(self, frame, event, arg):
        code = frame.f_code
        if not self.has_imports:
            if code.co_name == "<module>" and is_imported(frame):
                self.imports += 1
                return self._in_module
            if self.imports or not code.co_flags & OPTIMIZED:
                return None
        name = code.co_filename
        if name not in self.locals:
            self.locals[name] = self._make_local(self._find(name))
        return self.locals[name]

    def _in_module(self, frame, event, arg):
        if event == "return":
            self.imports -= 1
        return self._in_module

    @staticmethod
    def _make_local(found):
        if found is None:
            return None
        add = found[1].add

        def local(frame, event, arg):
            if event == "line":
                add(frame.f_lineno)
            return local

        return local


def load_native():
    """Loads the C side; None if this Python cannot load it."""
    try:
        import ctypes

        native = ctypes.PyDLL(os.path.splitext(os.environ["ACR_TESTS_TRACE"])[0] + ".so")
    except (ImportError, OSError):
        return None
    native.acr_trace_begin.argtypes = [ctypes.py_object]
    return native


class Buffer:
    """A File of the C side: the number of bytes that follow, whether a line ran, and a byte for each line from 0."""

    HEAD = struct.Struct("ii")

    def __init__(self, path):
        import ctypes

        try:
            with open(path, "rb") as file:
                text = file.read()
            count = text.count(b"\n") + text.count(b"\r") + 2  # a lower bound, because "\r" alone ends a line, too
        except OSError:
            count = 0
        self.bytes = bytearray(self.HEAD.pack(count, 0) + bytes(count))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))

    def is_run(self):
        """Whether that line ran."""
        return self.HEAD.unpack_from(self.bytes)[1]

    def clear(self):
        """No line ran."""
        if self.is_run():
            self.bytes[4:] = bytes(len(self.bytes) - 4)

    def ranges(self):
        """As `ranges` of a set."""
        parts = [match.span() for match in re.compile(b"\x01+").finditer(self.bytes, self.HEAD.size)]
        return join((first - self.HEAD.size, last - 1 - self.HEAD.size) for first, last in parts)


def is_imported(frame):
    """Whether the frame of a module's code belongs to an import, and not to a script or doctest."""
    return frame.f_back is not None and frame.f_back.f_code.co_name in IMPORTING


def ranges(lines):
    """Numbers as text: "1-3,7"."""
    parts, first, last = [], None, None
    for line in sorted(lines):
        if last is not None and line == last + 1:
            last = line
            continue
        if last is not None:
            parts.append((first, last))
        first = last = line
    parts.append((first, last))
    return join(parts)


def join(parts):
    """Pairs of first and last line as text."""
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
