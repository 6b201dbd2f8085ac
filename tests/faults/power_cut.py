"""What a disk may hold after a power cut: the operations that a process was seen to do, up to the
cut, without some of those that it had not waited for.

A change of a file is safe once the file was synced, a change of a folder's names once the folder
was; of a move both folders. Everything else may be lost, whatever came after it, and a write may be
torn: some of its sectors are on the disk, others are as before or full of zeros.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

_HEAD = struct.Struct("@IIIIq")
_SECTOR = 512


@dataclass(frozen=True)
class Operation:
    """One change, as the shim has noted it; paths are relative to the folder that was watched."""

    what: str  # c create, w write, t truncate, s sync, d make a folder, u remove, r rename
    path: PurePosixPath
    other: PurePosixPath | None
    offset: int
    data: bytes


def read_log(log: Path, watched: Path) -> tuple[Operation, ...]:
    """The operations in their order."""
    content, operations, at = log.read_bytes(), [], 0
    root = watched.resolve()
    while at < len(content):
        what, path_length, other_length, length, offset = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        pieces = []
        for size in (path_length, other_length, length):
            pieces.append(content[at : at + size])
            at += size
        path, other = (
            PurePosixPath(name.decode()).relative_to(root) if name else None for name in pieces[:2]
        )
        assert path is not None
        operations.append(Operation(chr(what), path, other, offset, pieces[2]))
    return tuple(operations)


@dataclass(eq=False)
class _Node:
    """A file or a folder, whatever it is called now."""

    content: bytearray | None = None  # None for a folder
    names: dict[str, _Node] = field(default_factory=dict)

    def at(self, path: PurePosixPath) -> _Node:
        node = self
        for name in path.parts:
            node = node.names[name]
        return node


@dataclass
class _Change:
    """One change of the disk, and what has to be synced before it is safe."""

    apply: Callable[[], None]
    waits_for: set[_Node]
    tear: Callable[[random.Random], None] | None = None  # for writes: a part of it


class Disk:
    """A folder as it was before a process, and what may be there after a cut during it."""

    def __init__(self, before: Path, operations: Sequence[Operation]) -> None:
        self._before = before
        self._operations = operations

    def __len__(self) -> int:
        """How many moments a cut can come at."""
        return len(self._operations) + 1

    def after_cut(self, at: int, choice: str, seed: int = 0) -> dict[str, bytes | None]:
        """The files, and folders as None, by their paths. ``choice`` is what becomes of that which
        was not safe: "kept", "lost", or "mixed", which follows the seed."""
        root = _read(self._before)
        draw = random.Random(seed)
        for change in _changes(root, self._operations[:at]):
            fate = choice if change.waits_for else "kept"
            if fate == "mixed":
                fate = draw.choice(("kept", "lost", "torn") if change.tear else ("kept", "lost"))
            if fate == "kept":
                change.apply()
            elif fate == "torn" and change.tear:
                change.tear(draw)
        return dict(_listed(root, ""))


def write_tree(folder: Path, content: dict[str, bytes | None]) -> Path:
    """Make a folder that holds this."""
    folder.mkdir(parents=True)
    for name, data in content.items():
        if data is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(data)
    return folder


def _changes(root: _Node, operations: Sequence[Operation]) -> list[_Change]:
    """The changes that operations stand for, once all of them are known: a sync settles earlier
    ones. Names are looked up as the process saw them, in a tree of its own."""
    seen, twins = _twin(root)
    pending: list[_Change] = []
    for each in operations:
        parent = each.path.parent
        try:
            above = seen.at(parent)
            match each.what:
                case "s":
                    synced = seen.at(each.path)
                    for change in pending:
                        change.waits_for.discard(synced)
                case "c" | "d":
                    new = _Node(bytearray() if each.what == "c" else None)
                    real = _Node(bytearray() if each.what == "c" else None)
                    twins[new] = real
                    above.names[each.path.name] = new
                    pending.append(_named(twins[above], each.path.name, real, {above}))
                case "u":
                    del above.names[each.path.name]
                    pending.append(_named(twins[above], each.path.name, None, {above}))
                case "r":
                    assert each.other is not None
                    moved = above.names.pop(each.path.name)
                    target = seen.at(each.other.parent)
                    target.names[each.other.name] = moved
                    pending.append(
                        _moved(
                            (twins[above], each.path.name),
                            (twins[target], each.other.name),
                            twins[moved],
                            {above, target},
                        )
                    )
                case "w" | "t":
                    file = seen.at(each.path)
                    pending.append(_content(twins[file], each, {file}))
        except KeyError:
            continue  # a file that has no name any more: nobody will see it
    return pending


def _named(folder: _Node, name: str, node: _Node | None, waits_for: set[_Node]) -> _Change:
    def apply() -> None:
        if node is None:
            folder.names.pop(name, None)
        else:
            folder.names[name] = node

    return _Change(apply, waits_for)


def _moved(
    old: tuple[_Node, str], new: tuple[_Node, str], node: _Node, waits_for: set[_Node]
) -> _Change:
    def apply() -> None:
        if old[0].names.get(old[1]) is node:
            del old[0].names[old[1]]
        new[0].names[new[1]] = node

    return _Change(apply, waits_for)


def _content(file: _Node, operation: Operation, waits_for: set[_Node]) -> _Change:
    assert file.content is not None
    content, at, data = file.content, operation.offset, operation.data
    if operation.what == "t":

        def truncate() -> None:
            del content[at:]
            content.extend(bytes(at - len(content)))

        return _Change(truncate, waits_for)

    def write(piece: bytes = data, begin: int = at) -> None:
        content.extend(bytes(max(begin + len(piece) - len(content), 0)))
        content[begin : begin + len(piece)] = piece

    def tear(draw: random.Random) -> None:
        for begin in range(0, len(data), _SECTOR):
            piece = data[begin : begin + _SECTOR]
            fate = draw.choice(("kept", "lost", "zeros"))
            is_new = at + begin >= len(content)
            if fate == "kept":
                write(piece, at + begin)
            elif fate == "zeros" and is_new:  # space that was given to the file and never filled
                write(bytes(len(piece)), at + begin)

    return _Change(write, waits_for, tear)


def _twin(root: _Node) -> tuple[_Node, dict[_Node, _Node]]:
    """A copy of the names, and for each node of the copy the one that it stands for."""
    copy = _Node(None if root.content is None else bytearray())
    twins = {copy: root}
    for name, node in root.names.items():
        copy.names[name], below = _twin(node)
        twins |= below
    return copy, twins


def _read(path: Path) -> _Node:
    if not path.is_dir():
        return _Node(bytearray(path.read_bytes()))
    return _Node(names={each.name: _read(each) for each in sorted(path.iterdir())})


def _listed(node: _Node, path: str) -> Iterator[tuple[str, bytes | None]]:
    for name, below in sorted(node.names.items()):
        here = f"{path}{name}"
        yield here, None if below.content is None else bytes(below.content)
        yield from _listed(below, f"{here}/")
