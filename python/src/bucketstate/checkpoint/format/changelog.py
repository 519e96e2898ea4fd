"""Changelogs, format versions 1 and 2: what one version changed (`docs/format.md`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bucketstate.checkpoint.format.binary import Reader
from bucketstate.checkpoint.format.changelog_footer import Block, decode_footer
from bucketstate.checkpoint.format.compression import CODECS, crc32c, decompress
from bucketstate.checkpoint.format.damage import damaged, decoding, newer
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.names import Attempt, ChangelogName
from bucketstate.checkpoint.format.storage import Folder

FORMAT = 2
_MAGIC, _END = b"BKTSTLOG", b"BKTSTEND"
_START, _MAX_HEADER, _TRAILER, _TAIL = 12, 512, 32, 16 * 1024
_PIECE = 8 * 1024 * 1024
"""Bytes that are had with one request at most, unless a single block has more."""


@dataclass(frozen=True)
class Header:
    """What a changelog says of itself before any change.

    `commit_id` is of this very commit. `base_id` names what the changes apply to: the checkpoint id
    of the version before, or without checkpoint ids its commit id; None if there is none.
    """

    format_version: int
    version: int
    commit_id: str
    num_buckets: int
    hash_function: str
    checkpoint_id: str | None
    base_id: str | None

    def fits(self, commit_id: str | None) -> bool:
        """Whether the changes were made on top of that commit, as far as the file can tell.

        With checkpoint ids names tell attempts apart, and a file may say nothing.
        """
        known = self.checkpoint_id is None and self.base_id is not None and commit_id is not None
        return not known or self.base_id == commit_id


@dataclass(frozen=True)
class Changelog:
    """A changelog's index; `size` in bytes. Blocks are read, and verified, when asked for."""

    folder: Folder
    name: ChangelogName
    size: int
    header: Header
    families: tuple[Family, ...]
    blocks: tuple[Block, ...]

    @property
    def path(self) -> str:
        return self.folder.path_of(str(self.name))

    def read(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, bytes]]:
        """Each block with its raw bytes; the file stays open until the last of them was taken."""
        wanted = list(blocks)
        if not wanted:
            return
        with self.folder.opened(str(self.name)) as file:
            for piece in _pieces(wanted):
                start = piece[0].offset
                data = file.read_at(piece[-1].offset + piece[-1].stored_length - start, start)
                for block in piece:
                    at = block.offset - start
                    yield block, self._inflated(block, data[at : at + block.stored_length])

    def _inflated(self, block: Block, stored: bytes) -> bytes:
        where = f"the block at byte {block.offset}"
        found = crc32c(stored)
        if found != block.crc:
            raise damaged(
                self.path, f"expected checksum {block.crc:08x} of {where}, found {found:08x}"
            )
        try:
            return decompress(block.codec, stored, block.raw_length)
        except (OSError, ValueError, IndexError) as error:
            raise damaged(self.path, f"{where} cannot be decompressed ({error})") from error


def _pieces(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks that are had together: file calls are what costs on an object store.

    What lies between two of them comes along.
    """
    piece: list[Block] = []
    for block in blocks:
        if piece and not (
            piece[-1].offset <= block.offset
            and block.offset + block.stored_length - piece[0].offset <= _PIECE
        ):
            yield piece
            piece = []
        piece.append(block)
    if piece:
        yield piece


def read_header(folder: Folder, name: ChangelogName) -> Header:
    """The header alone, verified, with one small read."""
    path = folder.path_of(str(name))
    with folder.opened(str(name)) as file:
        start = file.read_at(min(_MAX_HEADER, file.size), 0)
    return _header(start, path, name.attempt)[0]


def read_changelog(folder: Folder, name: ChangelogName) -> Changelog:
    """The index of a changelog: header, footer and trailer, verified against each other."""
    path = folder.path_of(str(name))
    with folder.opened(str(name)) as file:
        size = file.size
        # A short file comes as a whole: file calls are what costs on an object store.
        start = file.read_at(size if size <= _TAIL else _MAX_HEADER, 0)
        header, length, header_crc = _header(start[:_MAX_HEADER], path, name.attempt)
        if size < length + _TRAILER:
            raise damaged(path, f"expected more than {length + _TRAILER} bytes, found {size}")
        tail_at = max(length, size - _TAIL)
        tail = start[tail_at:] if size <= _TAIL else file.read_at(size - tail_at, tail_at)
        footer_at, footer_length, footer_crc = _trailer(tail[-_TRAILER:], size, header_crc, path)
        if footer_at < length:
            raise damaged(path, f"expected a footer from byte {length}, found one at {footer_at}")
        if footer_at < tail_at:
            footer = file.read_at(footer_length, footer_at)
        else:
            footer = tail[footer_at - tail_at :][:footer_length]
    found = crc32c(footer)
    if found != footer_crc:
        raise damaged(path, f"expected footer checksum {footer_crc:08x}, found {found:08x}")
    families, blocks = decode_footer(footer, header.format_version, path)
    changelog = Changelog(folder, name, size, header, families, blocks)
    _check(changelog, length, footer_at)
    return changelog


def _header(start: bytes, path: str, attempt: Attempt) -> tuple[Header, int, int]:
    if len(start) < _START:
        raise damaged(
            path, f"expected a header of at least {_START} bytes, found a file of {len(start)}"
        )
    if start[: len(_MAGIC)] != _MAGIC:
        raise damaged(path, "expected a changelog, but it does not start like one")
    version = int.from_bytes(start[8:10], "little")
    # Before the checksum: a newer format may have another header altogether.
    if version > FORMAT:
        raise newer(path, "a changelog", FORMAT, version)
    length = int.from_bytes(start[10:12], "little")
    if version < 1 or not _START + 4 <= length <= len(start):
        raise damaged(path, f"its header has format version {version} and {length} bytes")
    expected, found = (
        int.from_bytes(start[length - 4 : length], "little"),
        crc32c(start[: length - 4]),
    )
    if found != expected:
        raise damaged(path, f"expected header checksum {expected:08x}, found {found:08x}")
    with decoding(path, "header"):
        header = _fields(Reader(start[_START : length - 4]), version)
    named = Attempt(header.version, header.checkpoint_id)
    if named != attempt:
        raise damaged(
            path,
            f"expected the header of {attempt.name('changelog')}, found that of "
            f"{named.name('changelog')}: the file was renamed or copied",
        )
    return header, length, found


def _fields(reader: Reader, format_version: int) -> Header:
    if reader.u8() not in CODECS:
        raise ValueError("its codec is not known")
    reader.bytes(3)
    commit = str(uuid.UUID(bytes=reader.bytes(16)))
    version, buckets = reader.i64(), reader.u32()
    checkpoint, base, hash_function = reader.string(), reader.string(), reader.string()
    reader.finish()
    return Header(
        format_version, version, commit, buckets, hash_function, checkpoint or None, base or None
    )


def _trailer(data: bytes, size: int, header_crc: int, path: str) -> tuple[int, int, int]:
    if data[-len(_END) :] != _END:
        raise damaged(path, "its end is missing: it was cut off, or written over")
    reader = Reader(data)
    offset, length, footer_crc, header = reader.u64(), reader.u32(), reader.u32(), reader.u32()
    expected, found = reader.u32(), crc32c(data[:20])
    if found != expected:
        raise damaged(path, f"expected trailer checksum {expected:08x}, found {found:08x}")
    if header != header_crc:
        raise damaged(path, "its end belongs to another header: it is made of two files")
    if offset + length != size - _TRAILER:
        raise damaged(
            path, f"expected its footer to end at byte {offset + length}, found it elsewhere"
        )
    return offset, length, footer_crc


def _check(changelog: Changelog, start: int, end: int) -> None:
    """What checksums cannot tell: that the parts fit together."""
    path, known = changelog.path, {f.id for f in changelog.families}
    if len(known) != len(changelog.families):
        raise damaged(path, "a column family is described twice")
    at = start
    for block in changelog.blocks:
        if block.family not in known:
            raise damaged(
                path, f"a block is of column family {block.family}, which is not described"
            )
        if block.codec not in CODECS:
            raise damaged(path, f"a block has codec {block.codec}, which is not known")
        if block.offset != at:
            raise damaged(path, f"expected a block at byte {at}, found it at {block.offset}")
        if not block.first_bucket <= block.last_bucket < changelog.header.num_buckets:
            raise damaged(
                path,
                f"expected buckets 0 to {changelog.header.num_buckets - 1}, found a block of "
                f"buckets {block.first_bucket} to {block.last_bucket}",
            )
        if not block.is_possible:
            raise damaged(
                path,
                f"expected a block at byte {at} whose lengths can be true, found {block.records} "
                f"records in {block.raw_length} bytes, stored with codec {block.codec} in "
                f"{block.stored_length}",
            )
        at += block.stored_length
    if at != end:
        raise damaged(path, f"expected the footer at byte {at}, found it at {end}")
