"""Entries of many data blocks at once are those that are found one after the other."""

from __future__ import annotations

import random
import struct
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketstate.checkpoint.format.sst.blocks import PUT_AT_0, entries_from
from bucketstate.checkpoint.format.sst.together import Entries, entries_of
from tests.kit.rows import varint

Rows = list[tuple[bytes, bytes]]


def block(rows: Rows, interval: int) -> bytes:
    """A data block with a restart at each so many entries."""
    data, restarts, before = bytearray(), [], b""
    for place, (plain, value) in enumerate(rows):
        key, shared = plain + PUT_AT_0, 0
        if place % interval == 0:
            restarts.append(len(data))
        else:
            shared = next(
                (n for n, (a, b) in enumerate(zip(before, key, strict=False)) if a != b),
                min(len(before), len(key)),
            )
        data += varint(shared) + varint(len(key) - shared) + varint(len(value))
        data += key[shared:] + value
        before = key
    return bytes(data) + struct.pack(f"<{len(restarts)}I", *restarts) + number32(len(restarts))


def number32(value: int) -> bytes:
    return struct.pack("<I", value)


def rows_of(entries: Entries) -> Rows:
    keys, values = entries
    keys.check()
    values.check()
    return list(zip(keys.to_list(), values.to_list(), strict=True))


KEYS = st.one_of(
    st.binary(max_size=12),
    st.integers(0, 400).map(lambda n: f"customer-{n:06}".encode()),
    st.builds(bytes.__mul__, st.sampled_from([b"a", b"\0"]), st.integers(0, 700)),
)
BLOCKS = st.lists(
    st.tuples(
        st.dictionaries(KEYS, st.binary(max_size=200), min_size=1, max_size=40),
        st.sampled_from([1, 2, 16, 64]),
    ),
    min_size=1,
    max_size=8,
)


@given(BLOCKS)
def test_as_one_after_the_other(drawn: list[tuple[dict[bytes, bytes], int]]) -> None:
    rows = [sorted(entries.items()) for entries, _ in drawn]
    blocks = [block(r, interval) for r, (_, interval) in zip(rows, drawn, strict=True)]
    assert rows_of(entries_of(blocks)) == list(chain.from_iterable(rows))
    walked = chain.from_iterable(entries_from(b, b"") for b in blocks)
    assert list(walked) == list(chain.from_iterable(rows))


@pytest.mark.parametrize("longest", [100, 5_000, 200_000])
def test_one_key_much_longer_than_the_others(longest: int) -> None:
    rows = sorted({f"key-{n}".encode(): b"v" * (n % 5) for n in range(3_000)}.items())
    rows.append((b"z" * longest, b"last"))
    blocks = [block(rows[n : n + 100], 16) for n in range(0, len(rows), 100)]
    assert rows_of(entries_of(blocks)) == rows


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_bytes_are(seed: int) -> None:
    chance = random.Random(seed)
    rows = sorted({f"k{chance.randrange(500)}".encode(): bytes(9) for _ in range(60)}.items())
    for _ in range(300):
        blocks = [bytearray(block(rows[n : n + 20], 16)) for n in range(0, len(rows), 20)]
        for _ in range(chance.randint(1, 3)):
            changed = chance.choice(blocks)
            if chance.random() < 0.3:
                del changed[chance.randrange(len(changed)) :]
            if changed:
                changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            found = entries_of([bytes(b) for b in blocks])
        except (IndexError, ValueError):
            continue
        assert all(len(key) < 2_000 for key, _ in rows_of(found))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (b"", "no room for a restart"),
        (bytes(8), "has more restarts than it has room for"),
        (block([(b"k", b"v")], 1)[:-4] + number32(9), "has more restarts than it has room for"),
        (bytes(4) + number32(1) + number32(1), "restarts are not in their order"),
        (b"\x01\x09\x00" + bytes(9) + number32(0) + number32(1), "begins as none before it"),
        (b"\x00\x09\x05" + bytes(9) + number32(0) + number32(1), "ends behind its block"),
        (b"\x00\x04\x00" + bytes(4) + number32(0) + number32(1), "shorter than what stands"),
        (b"\x00\x09\x00" + bytes(9) + number32(0) + number32(1), "no plain put"),
        (b"\xff" * 6 + bytes(9) + number32(0) + number32(1), "more than 32 bits"),
    ],
)
def test_what_is_no_block_says_why(changed: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        entries_of([block([(b"a", b"")], 1), changed])
