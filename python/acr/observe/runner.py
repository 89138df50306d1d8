"""The run of a script under observation and another guise."""

import builtins
import os
import re
import select
import sys
import time
import types

from acr.observe.operands import Own, Places
from acr.observe.rewrite import rewrite
from acr.observe.touched import Audit, Library
from acr.observe.watch import Channel, Watch


def leaves_by_itself(trace, places):
    """Whether a SystemExit was raised by the script, or by the functions that scripts leave by."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename
    ours = os.path.join("unittest", "main.py"), "_sitebuiltins.py", "<frozen _sitebuiltins>"
    return name == places.script or (name.endswith(ours) and places.of(name) == "")


def disguise(tree, source, key):
    """The name that the script goes by; its user, and where it names no file of the tree its folder, are others, too."""
    word = "".join("abcdefghijklmnopqrstuvwxyz"[at % 26] for at in key[2:12])
    for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME"):
        os.environ[name] = word
    suffix = ".py" if "process" in source.lower() or "concurrent" in source else ""
    return word, os.path.join(tree, word + suffix)


def move(tree, source):
    """Leaves the tree for a folder of its own, unless the script has the name of something in the tree in its text."""
    words = set(re.findall(r"[\w./-]+", source))
    if any(os.path.exists(os.path.join(tree, at)) and ("." in at or "/" in at) for at in words):
        return
    os.environ["PYTHONPATH"] = os.pathsep.join(at for at in (tree, os.environ.get("PYTHONPATH")) if at)
    folder = os.path.join(os.environ.get("TMPDIR") or "/tmp", "tmp" + os.urandom(8).hex())
    os.mkdir(folder, 0o700)
    os.chdir(folder)


def join_threads():
    threading = sys.modules.get("threading")
    for thread in threading.enumerate() if threading else ():
        if thread is not threading.main_thread() and not thread.daemon and thread is not threading.current_thread():
            thread.join()


def drained(child, pipe):
    """Waits for a child, and reads what it writes into a pipe until then."""
    while not os.waitpid(child, os.WNOHANG)[0]:
        if pipe is None:
            time.sleep(0.01)
        elif select.select([pipe], [], [], 0.05)[0] and not os.read(pipe, 65536):
            os.close(pipe)
            pipe = None


def use_number():
    """Uses the number of a process up: of one that can run nothing, for which no memory is copied as it is for a fork."""
    try:
        os.posix_spawn(os.sep, [os.sep], {})
    except AttributeError:  # before Python 3.8
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    except OSError:
        pass


def repeat():
    """Forks twice: the first child runs the script where it was not run before, the second where it was.

    Returns in the children alone, whether they are the second. Both are children of the same process and write into
    pipes, and nobody knows their numbers before.
    """
    pipe, end = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(end, 1)
        os.dup2(end, 2)
        os.close(pipe)
        os.close(end)
        return False
    os.close(end)
    drained(child, pipe)
    for _ in range(8 + os.urandom(1)[0] % 16):
        use_number()
    child = os.fork()
    if not child:
        return True
    status = os.waitpid(child, 0)[1]
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def run(read, tag, source, twice, path):
    """Runs the script in the current folder, the project's tree; `path` is what sys.path is to be, `read` gives the key.

    Twice: before that once more, in a process of its own whose reports nobody hears, by another key. Until the script
    begins, sys.path holds the folders of the standard library alone.
    """
    began = time.time()
    __import__("unittest")  # as if a test runner ran it
    heard = not twice or repeat()
    key = bytes.fromhex(read(64).decode("ascii")) if heard else os.urandom(32)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    tree = os.getcwd()
    word, script = disguise(tree, source, key)
    with open(script, "w", encoding="utf-8") as file:
        file.write(source)
    channel, places = Channel(tag, key), Places(tree, script, began)
    move(tree, source)
    module = types.ModuleType(word)
    watch = Watch(channel, places, module.__dict__)
    library = Library(source, places, (Channel, Watch, Audit, Own))
    # Tracebacks and warnings show no line of the script, which says what it expects.
    sys.modules["linecache"].cache[script] = (0, None, ["\n"] * (source.count("\n") + 1), script)
    module.__file__, module.__builtins__ = script, builtins
    if not script.endswith(".py"):
        module.__spec__ = type(sys.__spec__)(word, None, origin=script)
    sys.modules["__main__"] = sys.modules[word] = module
    sys.argv[:] = [script]
    sys.path[:] = [os.path.dirname(script)] + path
    how = "end"
    try:
        code = rewrite(source, script, watch.names())
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(Audit(channel, places).hook)
        exec(code, module.__dict__)
        join_threads()
    except SystemExit as error:
        how = "exit" if leaves_by_itself(error.__traceback__, places) else "ended"
        watch.failed(0, 0)
        join_threads()
        raise
    except BaseException as error:
        how = "ended"
        watch.failed(0, 0)
        sys.excepthook(type(error), error, error.__traceback__.tb_next)
        sys.exit(1)
    finally:
        for name in library.replaced():
            channel.send("replaced", name)
        try:
            os.unlink(script)
        except OSError:
            pass
        watch.end(how)
