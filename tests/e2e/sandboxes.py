"""The sandboxes that work on this machine, each as a way to run `acr-host exec`, for tests that must pass in all of
them.

The image of an engine contains the machine's Python and a shell; nothing is downloaded. Engines run with a separate
store below the test's folder and are killed by process id.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import http.client
import io
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from host import SLOWNESS, Host, Result, install

ORDINARY_USER = "nobody"
IMAGE = "acr-host-test/python"
TESTBED = "testbed"
SOCKET = "engine.sock"
PR_SET_PDEATHSIG = 1


class _EngineConnection(http.client.HTTPConnection):
    """A connection to an engine's socket."""

    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=120 * SLOWNESS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass
class Sandbox:
    """A backend and its options.

    `options` go to `exec`; `shifts` names the user who runs the program (None: this user); `dir` is the tree's path in
    the sandbox, None if it equals the repository's.
    """

    name: str
    host: Host
    options: list[str]
    env: dict[str, str] = field(default_factory=dict)
    wrapper: list[str] = field(default_factory=list)
    dir: str | None = None

    @property
    def is_engine(self) -> bool:
        """Whether commands run in containers."""
        return self.dir is not None

    def run(self, repo: Path, *args: str, stdin: bytes | int = b"", timeout: float = 120, **more: Any) -> Result:
        """`acr-host exec --repo REPO OPTIONS ARGS`; `stdin` is bytes or a descriptor, `more` goes to Popen."""
        command = ["exec", "--repo", str(repo), *self.options, *args]
        more |= {"stdin": stdin} if isinstance(stdin, int) else {"input": stdin}
        return self.host.run(*command, env=self.env, timeout=timeout, wrapper=self.wrapper, **more)

    def json(self, repo: Path, *args: str, **more: Any) -> dict[str, Any]:
        """The JSON object that it prints; the command must have run."""
        result = self.run(repo, "--json", *args, **more).check(0)
        [row] = result.rows()
        return row


@functools.cache
def missing_bubblewrap() -> str | None:
    """Why bubblewrap does not work here, found by trying it; None if it works."""
    if not shutil.which("bwrap"):
        return "bwrap is not installed"
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return f"bwrap does not work on this machine: {done.stderr.strip()}" if done.returncode else None


def at_hand() -> str:
    """The best sandbox that works here."""
    return "plain" if missing_bubblewrap() else "bubblewrap"


def _have(*programs: str) -> str | None:
    for program in programs:
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


def _root() -> str | None:
    return None if os.geteuid() == 0 else "needs root"


def missing_for(backend: str) -> str | None:
    """Why a backend cannot be tested here, or None."""
    needs = {
        "bubblewrap": missing_bubblewrap(),
        "bubblewrap-user": missing_bubblewrap() or _have("setpriv") or _root(),
        "plain": None,
        "podman": _have("podman", "runc", "busybox") or _root(),
        "dockerd": _have("dockerd", "runc", "busybox") or _root(),
    }
    return needs[backend]


def need(backend: str) -> None:
    """Skip the test with the reason if a backend cannot be tested."""
    why = missing_for(backend)
    if why:
        pytest.skip(why)


# ---- Engines ---------------------------------------------------------------------------------------


def _libraries(program: Path) -> Iterator[Path]:
    """The shared libraries of a program, by ldd."""
    text = subprocess.run(["ldd", str(program)], capture_output=True, check=True, text=True).stdout
    for word in text.split():
        if word.startswith("/"):
            yield Path(word)


def make_rootfs(
    tree: Mapping[str, str | bytes], archive: Path, programs: Sequence[str] = (), with_python: bool = True
) -> None:
    """A tar archive of a small root: busybox as shell and tools, /usr/bin/python3 with its compiled modules, the tree
    in /testbed, and some programs of this machine at their paths. Without Python, it has a quarter of the bytes and a
    twentieth of the files, so that engines load and pull it sooner."""
    python = Path("/usr/bin/python3").resolve()
    library = Path(f"/usr/lib/{python.name}")
    skipped = {
        "test",
        "idlelib",
        "lib2to3",
        "ensurepip",
        "tkinter",
        "turtledemo",
        "pydoc_data",
        "xmlrpc",
        "wsgiref",
        "distutils",
    }
    tools = "sh readlink cat ls tail head rm cp mv mkdir id env sleep yes true false seq touch pwd kill setsid dd ln find wc grep mkfifo sed"

    def keep(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = info.name.split("/")
        # Half of its bytes are only needed to build programs that embed Python.
        is_left_out = skipped & set(parts) or parts[-1].startswith("config-") or ".opt-" in parts[-1]
        return None if is_left_out or _RARE.match(parts[-1]) else info

    with tarfile.open(archive, "w", dereference=False) as tar:
        for name in ("bin", "tmp", "proc", "sys", "dev", "etc", TESTBED, "root"):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(info)
        busybox = shutil.which("busybox")
        assert busybox, "busybox is not installed"
        tar.add(busybox, "bin/busybox")
        for tool in tools.split():
            info = tarfile.TarInfo(f"bin/{tool}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(info)
        if with_python:
            tar.add(python, "usr/bin/python3")
            tar.add(library, str(library)[1:], filter=keep)
        for program in programs:
            tar.add(Path(program).resolve(), program[1:])
        needed = [library for program in programs for library in _libraries(Path(program))]
        own = [*_libraries(python), *_extension_libraries(library)] if with_python else []
        # Loaded by name when a thread is ended from outside, as an interpreter does at its end.
        own += [libc.with_name("libgcc_s.so.1") for libc in own if libc.name.startswith("libc.so")]
        for shared in {*own, *needed}:
            tar.add(shared.resolve(), str(shared)[1:])
        _add_tree(tar, tree)


# Modules that no test needs, some of which need large libraries.
_RARE = re.compile(
    r"(?:_dbm|_gdbm|_nis|_crypt|_curses\w*|_codecs_\w+|readline|ossaudiodev|turtle|_?pydecimal"
    r"|(?:cp(?!437)|mac_|koi8|iso\d|euc_|shift_|gb|big5|hp_|ptcp|kz1|johab|tis_|palmos)\w*)\."
)


def _extension_libraries(library: Path) -> Iterator[Path]:
    for module in (library / "lib-dynload").glob("*.so"):
        if not _RARE.match(module.name):
            yield from _libraries(module)


def _add_tree(tar: tarfile.TarFile, tree: Mapping[str, str | bytes]) -> None:
    import io

    for name, content in tree.items():
        data = content.encode() if isinstance(content, str) else content
        info = tarfile.TarInfo(f"{TESTBED}/{name}")
        info.size, info.mode = len(data), 0o644
        tar.addfile(info, io.BytesIO(data))


def mount_points() -> list[str]:
    """The mount points of this machine, in the order of mounting."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line.split()[1] for line in lines]


def _end_with_parent() -> None:
    """In a child: get killed when this process ends, however it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _short_folder() -> Path:
    """A new folder for an engine's sockets, whose paths may have at most 104 bytes, too few for pytest's folders."""
    return Path(tempfile.mkdtemp(prefix="engine-"))


class Engine:
    """A container engine for this test only, with a socket in `sockets`; `stop` ends it and removes that folder."""

    def __init__(self, folder: Path, sockets: Path, command: list[str], env: dict[str, str]) -> None:
        self.folder = folder
        self.socket = sockets / SOCKET
        self.log = (folder / "log").open("ab")
        self._command, self._env = command, {**os.environ, **env}
        self.start()

    def start(self) -> None:
        """Start the engine, even after a `kill`, whose stale files would look like a running engine's."""
        for stale in (self.socket, self.folder / "pid", self.socket.parent / "containerd" / "containerd.pid"):
            stale.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            self._command,
            cwd=self.folder,  # conmon writes a file `oom` into the folder where it was started
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            preexec_fn=_end_with_parent,
        )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def kill(self) -> None:
        """Kill the engine; its containers continue."""
        self.process.kill()
        self.process.wait()

    def _wait(self) -> None:
        until = time.monotonic() + 60 * SLOWNESS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            if self.socket.exists() and self.call("GET", "/_ping")[0] == 200:
                return
            time.sleep(0.05)
        text = (self.folder / "log").read_text(errors="replace")
        raise AssertionError(f"the engine does not start: {text[-2000:]}")

    def call(self, method: str, path: str, body: Path | bytes | None = None, kind: str = "") -> tuple[int, Any]:
        """Call the API; return its status and its JSON or text; status 0 if nobody answers."""
        connection = _EngineConnection(str(self.socket))
        try:
            with open(body, "rb") if isinstance(body, Path) else contextlib.nullcontext(body) as data:
                connection.request(method, f"/v1.41{path}", data, {"Content-Type": kind} if kind else {})
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text) if text.strip() else None
        except ValueError:
            return answer.status, text

    def load(self, archive: Path, name: str) -> None:
        """Make an image from a root archive."""
        status, answer = self.call("POST", f"/images/create?fromSrc=-&repo={name}", archive, "application/x-tar")
        assert status == 200, answer

    def extend(self, base: str, files: Mapping[str, str | bytes], name: str) -> None:
        """Make an image from another image, with additional files in its TESTBED.

        The archive is sent without padding, because an engine that has seen its end may stop reading.
        """
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            for path, text in files.items():
                content = text.encode() if isinstance(text, str) else text
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        status, answer = self._post("/containers/create", {"Image": base, "Cmd": ["/bin/sh"]})
        assert status == 201, answer
        place = f"/containers/{answer['Id']}"
        put = self.call("PUT", f"{place}/archive?path=/{TESTBED}", data.getvalue()[: tar.offset], "application/x-tar")
        assert put[0] == 200, put
        made = self._post(f"/commit?container={answer['Id']}&repo={name}", {})
        assert made[0] == 201, made
        assert self.call("DELETE", f"{place}?force=1")[0] in (200, 204)

    def need_containers(self, name: str) -> None:
        """Skip the test if the engine cannot run the simplest command in a container of an image with a shell and TESTBED."""
        simple = {"Image": name, "Cmd": ["/bin/cat"], "OpenStdin": True, "HostConfig": {"NetworkMode": "none"}}
        status, answer = self._post("/containers/create", simple)
        assert status == 201, answer
        container = answer["Id"]
        why = self._cannot_run(container)
        until = time.monotonic() + 60 * SLOWNESS
        # An engine may refuse to remove a container that is just ending.
        while (removed := self.call("DELETE", f"/containers/{container}?force=1&v=1"))[0] not in (200, 204, 404):
            assert time.monotonic() < until, removed
            time.sleep(0.05)
        if why:
            said = "".join(letter for letter in str(why) if letter.isprintable()).strip()
            pytest.skip(f"the engine cannot run a container on this machine: {said}")

    def _cannot_run(self, container: str) -> Any:
        """Start a container and run a command in it; return the error, or None.

        In a chroot, a container may start, but a later command in it sees the files of the chroot instead of its own.
        """
        status, answer = self.call("POST", f"/containers/{container}/start")
        if status != 204:
            return answer
        command = {"Cmd": ["/bin/sh", "-c", "exit 7"], "WorkingDir": f"/{TESTBED}", "AttachStderr": True}
        status, answer = self._post(f"/containers/{container}/exec", command)
        if status != 201:
            return answer
        name = answer["Id"]
        status, said = self._post(f"/exec/{name}/start", {"Detach": False})
        status, answer = self.call("GET", f"/exec/{name}/json")
        return None if status == 200 and answer["ExitCode"] == 7 else said or answer

    def _post(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        return self.call("POST", path, json.dumps(body).encode(), "application/json")

    def containers(self) -> list[Any]:
        """All containers, running or not."""
        status, answer = self.call("GET", "/containers/json?all=1")
        assert status == 200, answer
        return answer

    def images(self) -> list[str]:
        """The names of all images; the id of an image without a name."""
        status, answer = self.call("GET", "/images/json")
        assert status == 200, answer
        return sorted(name for image in answer for name in image["RepoTags"] or [image["Id"]])

    def remove_image(self, name: str) -> None:
        """Remove an image that no container uses."""
        status, answer = self.call("DELETE", f"/images/{name}")
        assert status == 200, answer

    def mounts(self) -> list[str]:
        """Mounts below the engine's folders, except that of its store, which the engine mounts itself."""
        stores = {f"{self.folder}/storage/overlay", f"{self.folder}/data"}
        return [point for point in self._mounts() if point not in stores]

    def _mounts(self) -> list[str]:
        folders = (f"{self.folder}/", f"{self.socket.parent}/")
        return [point for point in mount_points() if point.startswith(folders)]

    def stop(self) -> None:
        """End the engine and its waiting helpers, and unmount what it has mounted in its folders."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        # podman leaves a helper beside each ended command, which mounts the store again after five minutes, and may
        # start another helper.
        while helpers := self._helpers():
            for pid in helpers:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)
        for point in reversed(self._mounts()):
            subprocess.run(["umount", point], check=True)
        shutil.rmtree(self.socket.parent)

    def _helpers(self) -> list[int]:
        """The processes of podman and its `conmon` that name this engine's folder."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            here = f"{self.folder}/".encode()
            if command[0].endswith((b"conmon", b"podman")) and any(here in word for word in command):
                found.append(int(folder.name))
        return found


_PODMAN_CONFIG = """
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
log_size_max = 16777216
{profile}
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
{more}
tmp_dir = "{folder}/libpod"
image_copy_tmp_dir = "{folder}/tmp"
"""
_PODMAN_STORAGE = """
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


def podman_environment(folder: Path, more: str = "", registry: str = "127.0.0.1", calls: str = "all") -> dict[str, str]:
    """Variables for podman with a separate store; `more` is added to [engine] of its configuration; `registry` is the
    only registry, without certificates; `calls` "usual" filters system calls with a list, from which podman builds a
    new filter for each command, which takes longer than the command."""
    for name in ("libpod", "tmp", "storage", "run"):
        (folder / name).mkdir(parents=True)
    profile = "" if calls == "usual" else 'seccomp_profile = "unconfined"'
    (folder / "containers.conf").write_text(_PODMAN_CONFIG.format(folder=folder, more=more, profile=profile))
    (folder / "storage.conf").write_text(_PODMAN_STORAGE.format(folder=folder))
    (folder / "registries.conf").write_text(f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n')
    return {
        "GOGC": "400",  # its processes are short-lived
        "DPKG_ADMINDIR": str(folder / "tmp"),  # so that it does not search all packages for its version
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
    }


def podman(folder: Path, **options: str) -> Engine:
    """podman's service; `options` go to podman_environment."""
    sockets = _short_folder()
    command = ["podman", "system", "service", "--time=0", f"unix://{sockets}/{SOCKET}"]
    return Engine(folder, sockets, command, podman_environment(folder, **options))


def dockerd(folder: Path) -> Engine:
    """Docker's engine with a separate store and without a network."""
    (folder / "data").mkdir(parents=True)
    sockets = _short_folder()
    command = [
        "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{sockets}", "-p", f"{folder}/pid",
        "-H", f"unix://{sockets}/{SOCKET}", "--bridge=none", "--iptables=false", "--ip6tables=false",
        "--ip-forward=false", "--oom-score-adjust=0", "--exec-opt", "native.cgroupdriver=cgroupfs",
        "--default-ulimit", "nofile=4096:4096",
    ]  # fmt: skip
    return Engine(folder, sockets, command, {})


def start(name: str, folder: Path, images: Mapping[str, Path], **options: str) -> Engine:
    """An engine with images from these archives, the last of which has a shell; skips the test if this is impossible. `options` are podman's."""
    need(name)
    engine = podman(folder, **options) if name == "podman" else dockerd(folder)
    try:
        for image, archive in images.items():
            engine.load(archive, image)
        engine.need_containers(image)
    except BaseException:
        engine.stop()
        raise
    return engine


# ---- Users -----------------------------------------------------------------------------------------


def as_user(name: str) -> list[str]:
    """The command that runs another command as that user, without root's rights."""
    entry = pwd.getpwnam(name)
    return [
        "setpriv", "--reuid", str(entry.pw_uid), "--regid", str(entry.pw_gid), "--clear-groups",
        "--bounding-set=-all", "--inh-caps=-all",
    ]  # fmt: skip


def give(path: Path, name: str) -> None:
    """Give a tree to a user, and let others enter its parents."""
    subprocess.run(["chown", "-R", f"{name}:", str(path)], check=True)
    for parent in path.parents:
        if parent.stat().st_mode & 0o001 == 0:
            parent.chmod(parent.stat().st_mode | 0o011)


# ---- Backends of this machine ----------------------------------------------------------------------

LOCAL = ["bubblewrap", "bubblewrap-user", "plain"]


@functools.cache
def _installed(binary: Path) -> Path:
    """A copy of the program that any user may run and only this user may change, until this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="acr-host-installed-")
    atexit.register(folder.cleanup)
    Path(folder.name).chmod(0o755)
    return install(binary, Path(folder.name) / "installed")


def local(name: str, folder: Path, binary: Path) -> Sandbox:
    """One of LOCAL, with a home below `folder`; "-user": as a normal user. Skips the test if this is impossible."""
    need(name)
    made = Sandbox(name, Host(folder / "home", binary), [])
    made.host.home.mkdir(parents=True)
    if name == "bubblewrap-user":
        made.host = Host(made.host.home, _installed(binary))
        made.wrapper = as_user(ORDINARY_USER)
        give(folder, ORDINARY_USER)
    elif name == "plain":
        made.options = ["--sandbox", "plain"]
    return made


assert sys.version_info >= (3, 9)
