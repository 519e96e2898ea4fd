"""Files with bytes changed, their checksums as they were or right again: damage, or an answer."""

from __future__ import annotations

import os
import random
import struct
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.format.compression import crc32c, decompress
from bucketstate.errors import CheckpointError
from tests.kit.checkpoints import CODECS
from tests.unit.checkpoint.test_state import grown, rows

pytestmark = pytest.mark.slow

_NUMBERS = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 1 << 30, 1 << 16, 0)
_ENTRY, _TRAILER = 37, 32
_CHANGES = 1000 if "BUCKETSTATE_SWEEP" in os.environ else 20


def change(data: bytearray, start: int, end: int, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(start, end)
        if chance.random() < 0.6 or at + 4 > end:
            data[at] = chance.randrange(256)
        else:
            data[at : at + 4] = struct.pack("<I", chance.choice(_NUMBERS))


def sealed(original: bytes, chance: random.Random) -> bytes:
    """A changelog with bytes of its blocks or its footer changed, its checksums right."""
    data = bytearray(original)
    trailer = len(data) - _TRAILER
    footer, length = struct.unpack_from("<QI", data, trailer)
    (header,) = struct.unpack_from("<H", data, 10)
    start, end = (header, footer) if chance.random() < 0.7 else (footer, trailer)
    change(data, start, end, chance)
    entry = footer + length - _ENTRY
    while entry > footer:
        at, count = struct.unpack_from("<QI", data, entry + 12)
        if at < header or at + count > footer or not count:
            break
        data[entry + 33 : entry + 37] = struct.pack("<I", crc32c(bytes(data[at : at + count])))
        entry -= _ENTRY
    data[trailer + 12 : trailer + 16] = struct.pack("<I", crc32c(bytes(data[footer:trailer])))
    data[trailer + 20 : trailer + 24] = struct.pack(
        "<I", crc32c(bytes(data[trailer : trailer + 20]))
    )
    return bytes(data)


@pytest.mark.parametrize("codec", CODECS)
def test_changed_bytes_are_damage_or_an_answer(tmp_path: Path, codec: str) -> None:
    chance = random.Random(codec)
    built = grown(tmp_path, codec=codec)
    built.snapshot(3)
    state = built.rows()
    files = {f: f.read_bytes() for f in built.folder(0).rglob("*") if f.is_file()}
    answers = damaged = 0
    tracemalloc.start()
    for number in range(_CHANGES):
        file, original = chance.choice(list(files.items()))
        seal = file.suffix == ".changelog" and number % 3 > 0
        data = bytearray(original)
        change(data, 0, len(data), chance)
        file.write_bytes(sealed(original, chance) if seal else data)
        tracemalloc.reset_peak()
        try:
            found = Checkpoint(tmp_path).scan().to_arrow()
            answers += 1
            # Bytes whose checksum is right may be another state.
            assert seal or rows(found) == state, (number, file)
        except CheckpointError:
            damaged += 1
        Checkpoint(tmp_path).verify()
        assert tracemalloc.get_traced_memory()[1] < 64 << 20, (number, file)
        file.write_bytes(original)
    tracemalloc.stop()
    assert answers
    assert damaged


@pytest.mark.parametrize(("codec", "most"), [(0, 9), (1, 9 * 255), (3, 9 * 22), (4, 9 * 88)])
def test_a_length_that_cannot_be_is_not_allocated(codec: int, most: int) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        decompress(codec, bytes(9), most + 1)


@pytest.mark.parametrize(("codec", "name"), [(1, "lz4_raw"), (2, "zstd"), (3, "snappy")])
@pytest.mark.parametrize("raw", [b"", b"a", b"ab" * 9, bytes(range(256)) * 40, bytes(100_000)])
def test_a_block_of_another_length_is_damage(codec: int, name: str, raw: bytes) -> None:
    stored = pa.compress(raw, name, asbytes=True)
    assert decompress(codec, stored, len(raw)) == raw
    for other in (len(raw) - 1, len(raw) + 1, len(raw) + 9):
        if other >= 0:
            with pytest.raises((ValueError, OSError)):
                decompress(codec, stored, other)


@pytest.mark.parametrize("stored", [b"", b"\x80", b"\x81\x80\x80\x80\x80\x01", b"\xff" * 9])
def test_a_snappy_block_without_a_length(stored: bytes) -> None:
    with pytest.raises((ValueError, OSError)):
        decompress(3, stored, 1)
