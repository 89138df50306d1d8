"""The calls of the project's own functions on the way from a script to its failure, written as a tree.

The project's Python reads this file from its standard input, with the script's path as argument. It runs the script as the main
module and writes the tree to standard output; what the script itself writes there is dropped. A call tree can have millions
of calls: below one caller, the tracer keeps the first two calls of each function, and its last call that raises. The script's
calls come latest first, because the script failed at its end.
"""

import importlib.machinery
import os
import re
import reprlib
import sys
import time

MOST_LINES, MOST_BYTES, MOST_LINE, MOST_DEPTH = 60, 5600, 120, 60
MOST_KEPT = 2  # maximum calls of one function that are kept below one caller
MOST_CALLS = 3000  # maximum calls below one call of the script
MOST_TOP, MOST_SHOWN = 40, 12  # maximum calls of the script that are kept, and that are shown
MOST_SECONDS = 15.0  # maximum time for showing values
RETURNS = ("RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE", "INSTRUMENTED_RETURN_VALUE", "INSTRUMENTED_YIELD_VALUE")
OPTIMIZED, STAR, STARS = 1, 4, 8  # flags of a code object: a function's code; has *args; has **kwargs


class Call:
    """A call of a function. `is_kept`: its caller's list contains it."""

    __slots__ = ("args", "children", "code", "counts", "error", "frame", "is_kept", "line", "name", "result", "times")

    def __init__(self, code=None, frame=None):
        self.code, self.frame = code, frame
        self.args = self.name = self.error = None
        self.result = "None"
        self.is_kept, self.line, self.times = False, 0, 1
        self.children, self.counts = [], {}


class Values:
    """Shows values as short texts. Objects may run the project's code for that, briefly and untraced."""

    def __init__(self):
        self.short = reprlib.Repr()
        self.short.maxlevel, self.short.maxstring, self.short.maxother = 3, 50, 60
        self.left = MOST_SECONDS

    def show(self, value, most):
        """The value as a text of at most that many characters."""
        began, text = time.perf_counter(), None
        if self.left > 0:
            try:
                text = self.short.repr(value)
            except BaseException:  # noqa: BLE001 - of the project's own code
                text = None
        self.left -= time.perf_counter() - began
        text = re.sub(r" at 0x[0-9A-Fa-f]+", "", text) if text else f"<{type(value).__name__}>"
        text = " ".join(text.split())
        return text if len(text) <= most else text[: most - 1] + "\u2026"


class Tracer:
    """Records calls below `root`, except those in files that do not belong to the project."""

    def __init__(self, root, script):
        self.root, self.script = os.path.realpath(root) + os.sep, script
        self.files = {}  # a code's file -> path below the root, or None
        self.top, self.values, self.count = Call(), Values(), 0
        self.top.is_kept, self.stack = True, [self.top]

    def find(self, name):
        """The path of one of the project's own files; None for other files."""
        if name not in self.files:
            path = os.path.realpath(name)
            below = path.startswith(self.root) and not name.startswith("<") and path != self.script
            parts = path[len(self.root) :].split(os.sep) if below else []
            is_own = below and not any(part.startswith(".") or part == "site-packages" for part in parts)
            self.files[name] = "/".join(parts) if is_own else None
        return self.files[name]

    def describe(self, call):
        """Records a call's name and arguments from its frame."""
        code, local = call.code, call.frame.f_locals
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & STAR) + bool(code.co_flags & STARS)
        names = code.co_varnames[:count]
        call.name = getattr(code, "co_qualname", None) or code.co_name
        if call.name == code.co_name and names[:1] in (("self",), ("cls",)) and names[0] in local:
            owner = local[names[0]] if names[0] == "cls" else type(local[names[0]])
            call.name = f"{getattr(owner, '__name__', '?')}.{code.co_name}"
        shown = [name for name in names if name in local and name not in ("self", "cls")]
        call.args = ", ".join(f"{name}={self.values.show(local[name], 40)}" for name in shown[:6])
        call.name = call.name.replace("<locals>.", "")

    def on_call(self, frame, event, arg):
        """The trace function for calls of functions."""
        code = frame.f_code
        if not self.find(code.co_filename) or not code.co_flags & OPTIMIZED or code.co_name.startswith("<"):
            return None
        if len(self.stack) > MOST_DEPTH:
            return None
        caller, call = self.stack[-1], Call(code, frame)
        before = caller.counts.get(code, 0)
        caller.counts[code] = before + 1
        if caller is self.top:
            self.begin_top(frame, call)
        call.is_kept = caller is self.top or (caller.is_kept and before < MOST_KEPT and self.count < MOST_CALLS)
        if call.is_kept:
            self.count += 1
            caller.children.append(call)
            self.describe(call)
        self.stack.append(call)
        frame.f_trace_lines = False
        return self.on_end

    def begin_top(self, frame, call):
        """Begins a call from the script into the project; if there are too many, drops the calls below earlier ones."""
        while frame and frame.f_code.co_filename != self.script:
            frame = frame.f_back
        call.line, self.count = frame.f_lineno if frame else 0, 0
        children = self.top.children
        if len(children) > 1 and all((one.code, one.line) == (call.code, call.line) for one in children[-2:]):
            call.times += children.pop().times
        if len(children) > MOST_TOP:
            del children[1]
        if len(children) > 8:
            children[-8].children = []

    def on_end(self, frame, event, arg):
        """The trace function inside a call, for its end or its exception."""
        call = self.stack[-1]
        if call.frame is not frame:
            return self.on_end
        if event == "exception":
            call.error = self.values.show(arg[1], 70)
        elif event == "return":
            self.stack.pop()
            self.end(call, arg)
            call.frame = None
        return self.on_end

    def end(self, call, value):
        """Records the result of a call; of the calls that raise, the last of each kind is kept."""
        caller = self.stack[-1]
        if call.error and (value is not None or is_return(call.frame)):
            call.error = None
        if not call.error:
            call.result = self.values.show(value, 60) if call.is_kept else "None"
            return
        if not call.is_kept:
            caller.children[MOST_KEPT:] = [c for c in caller.children[MOST_KEPT:] if c.code is not call.code]
            caller.children.append(call)
            self.describe(call)


def is_return(frame):
    """Whether a frame ends with a return, and not with an exception."""
    import opcode

    return opcode.opname[frame.f_code.co_code[frame.f_lasti]] in RETURNS


def fold(calls):
    """Combines the calls of a function from one line of the script: the last, their number, the first if different."""
    groups = []
    for call in calls:
        if groups and (groups[-1][-1].code, groups[-1][-1].line) == (call.code, call.line):
            groups[-1].append(call)
        else:
            groups.append([call])
    for group in groups:
        group[-1].times = sum(call.times for call in group)
        if (group[0].args, group[0].result, group[0].error) == (group[-1].args, group[-1].result, group[-1].error):
            del group[0 : len(group) - 1]
    return [call for group in groups for call in (group[0], group[-1])[-len(group) :]]


def choose(calls):
    """Chooses the calls to show: the path to the last exception, two beside each, then each function once by level."""
    path = calls[-1:]
    while path and any(call.error for call in path[-1].children):
        path.append([call for call in path[-1].children if call.error][-1])
    chosen, seen = {*calls, *path}, {call.code for call in path}
    for call in reversed(path[:-1]):
        for child in [child for child in call.children if child.code not in seen][-2:]:
            if len(chosen) < MOST_LINES:
                seen.add(child.code)
                chosen.add(child)
    for root in [*path[-1:], *reversed(calls[:-1])]:
        left = len(chosen) + max((MOST_LINES - len(chosen)) * 2 // 3, 1)
        level = [root]
        while level and len(chosen) < left:
            level = [child for call in level for child in call.children]
            for call in level:
                if (call.code not in seen or call.error) and len(chosen) < left:
                    seen.add(call.code)
                    chosen.add(call)
    return chosen


def write(calls, chosen, find, depth, file, lines):
    """Appends the lines of chosen calls, and of those with a chosen call below them."""
    for call in calls:
        inner = []
        path = find(call.code.co_filename)
        write(call.children, chosen, find, depth + (call in chosen), path if call in chosen else file, inner)
        if call in chosen:
            ends = " raises " + call.error if call.error else " -> " + call.result if call.result != "None" else ""
            ends += f" ({call.times} times)" if call.times > 1 else ""
            place = "" if path == file else f"  [{path}:{call.code.co_firstlineno}]"
            begins = f"line {call.line}: " if call.line else ""
            text = "  " * depth + begins + call.name
            room = MOST_LINE - len(text) - len(ends) - len(place) - 2
            args = call.args if len(call.args) <= room else call.args[: max(room, 8)] + "\u2026"
            lines.append(f"{text}({args}){ends}{place}")
        lines.extend(inner)


def render(tracer):
    """The tree as text of at most MOST_LINES and MOST_BYTES."""
    calls, lines, text = fold(tracer.top.children)[-MOST_SHOWN:], [], ""
    chosen = choose(calls)
    for call in reversed(calls):
        write([call], chosen, tracer.find, 0, None, lines)
    for line in lines[:MOST_LINES]:
        if len(text) + len(line) >= MOST_BYTES:
            break
        text += line + "\n"
    return text


def main():
    """Runs the script under the tracer."""
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    script = os.path.realpath(sys.argv[1])
    tracer = Tracer(os.path.dirname(script), script)
    loader, load = importlib.machinery.SourceFileLoader, importlib.machinery.SourceFileLoader.exec_module

    def exec_module(self, module):
        traced = sys.gettrace()
        sys.settrace(None)
        try:
            return load(self, module)
        finally:
            sys.settrace(traced)

    loader.exec_module = exec_module
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    module = type(sys)("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__
    sys.modules["__main__"], sys.argv, sys.path[0] = module, [script], os.path.dirname(script)
    try:
        sys.settrace(tracer.on_call)
        exec(code, module.__dict__)  # noqa: S102 - the sandbox runs it
    except BaseException:  # noqa: BLE001 - the script should fail
        pass
    sys.settrace(None)
    os.write(out, render(tracer).encode("utf-8", "backslashreplace"))
    os._exit(0)


main()
