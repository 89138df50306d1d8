"""Makes hostile git repositories: objects with wrong ids, packs and indexes that git would never write."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

from repos import Repo

COMMIT, TREE, BLOB = 1, 2, 3
REF_DELTA = 7


def object_file(repo: Repo, oid: str) -> Path:
    """The path of a loose object."""
    return repo.path / ".git" / "objects" / oid[:2] / oid[2:]


def raw_object(kind: str, content: bytes, size: int | None = None) -> bytes:
    """The inflated text of a loose object; `size` is the size that its header states."""
    return f"{kind} {len(content) if size is None else size}\0".encode() + content


def lie(repo: Repo, oid: str, kind: str, content: bytes, size: int | None = None) -> None:
    """Replace a loose object by one with other content under the same id."""
    path = object_file(repo, oid)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(raw_object(kind, content, size)))


def tree(entries: Iterable[tuple[str, str, str]]) -> bytes:
    """The content of a tree, from (mode, name, id)."""
    return b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in entries)


def commit_of(tree_id: str) -> bytes:
    """A commit's content."""
    who = "t <t@localhost> 1577836800 +0000"
    return f"tree {tree_id}\nauthor {who}\ncommitter {who}\n\nplanted\n".encode()


def add(repo: Repo, kind: str, content: bytes) -> str:
    """Write a valid loose object with any content, even content that git's commands would refuse; return its id."""
    oid = hashlib.sha1(raw_object(kind, content)).hexdigest()
    lie(repo, oid, kind, content)
    return oid


def set_head(repo: Repo, oid: str) -> None:
    """Set the current branch to that commit, without git."""
    (repo.path / ".git" / "refs" / "heads" / "main").write_text(oid + "\n")


def entry_head(kind: int, size: int) -> bytes:
    """The bytes before an object in a pack."""
    out, byte = b"", kind << 4 | size & 15
    size >>= 4
    while size:
        out += bytes([byte | 0x80])
        byte, size = size & 127, size >> 7
    return out + bytes([byte])


def index_of(ids: list[str], offsets: list[int], pack_sum: bytes, fanout: list[int] | None = None) -> bytes:
    """A pack's index (version 2); `fanout` replaces the counts of ids."""
    honest = [sum(int(oid[:2], 16) <= byte for oid in ids) for byte in range(256)]
    body = b"\377tOc" + struct.pack(">I", 2) + struct.pack(">256I", *(fanout or honest))
    order = sorted(range(len(ids)), key=ids.__getitem__)
    body += b"".join(bytes.fromhex(ids[i]) for i in order) + b"\0\0\0\0" * len(ids)
    body += b"".join(struct.pack(">I", offsets[i]) for i in order) + pack_sum
    return body + hashlib.sha1(body).digest()


def plant_pack(
    repo: Repo, ids: list[str], entries: list[tuple[int, bytes, bytes]], fanout: list[int] | None = None
) -> Path:
    """Write a pack of (type, base id for deltas, inflated content) under ids that may be false; return its index."""
    pack, offsets = b"PACK" + struct.pack(">II", 2, len(entries)), []
    for kind, base, content in entries:
        offsets.append(len(pack))
        pack += entry_head(kind, len(content)) + base + zlib.compress(content)
    pack_sum = hashlib.sha1(pack).digest()
    folder = repo.path / ".git" / "objects" / "pack"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"pack-{pack_sum.hex()}.pack"
    path.write_bytes(pack + pack_sum)
    path.with_suffix(".idx").write_bytes(index_of(ids, offsets, pack_sum, fanout))
    return path.with_suffix(".idx")


def zeros(size: int) -> bytes:
    """Deflated zeros: one piece, repeated, each of which starts anew."""
    piece = 1 << 24
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    pieces = [deflate.compress(b"\0" * piece) + deflate.flush(zlib.Z_FULL_FLUSH) for _ in range(2)]
    rest = zlib.compressobj(9, zlib.DEFLATED, -15)
    end = rest.compress(b"\0" * (size % piece)) + rest.flush()
    return b"\x78\xda" + pieces[0] + pieces[1] * (size // piece - 1) + end + struct.pack(">HH", size % 65521, 1)


def raw_pack(repo: Repo, oid: str, entry: bytes, version: int = 2, index: bytes | None = None) -> None:
    """Write a pack with one raw object under an id."""
    pack = b"PACK" + struct.pack(">II", version, 1) + entry
    total = hashlib.sha1(pack).digest()
    folder = repo.path / ".git" / "objects" / "pack"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"pack-{total.hex()}.pack"
    path.write_bytes(pack + total)
    path.with_suffix(".idx").write_bytes(index or index_of([oid], [12], total))


def number(value: int) -> bytes:
    """A size in the encoding of deltas."""
    out = b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])
