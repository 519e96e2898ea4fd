"""Texts of the events: names, places, addresses, and letters that mean nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
FIRST_NAMES = (
    "Peter",
    "Paul",
    "Luke",
    "John",
    "Saul",
    "Vicky",
    "Kate",
    "Julie",
    "Sarah",
    "Deiter",
    "Walter",
)
LAST_NAMES = (
    "Shultz",
    "Abrams",
    "Spencer",
    "White",
    "Bartels",
    "Walton",
    "Smith",
    "Jones",
    "Noris",
)
NAMES = tuple(f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES)

HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = (*HOT_CHANNELS, *(f"channel-{number}" for number in range(10_000)))

SHORTEST = 3
"""Letters of a text of some length at most."""


def _urls() -> list[str]:
    """The page of each channel: always the same one."""
    letters = np.random.default_rng(0).integers(ord("a"), ord("z") + 1, (len(CHANNELS), 15))
    texts = letters.astype(np.uint8).tobytes().decode()
    pages = [texts[at : at + 15] for at in range(0, len(texts), 15)]
    return [
        f"https://www.nexmark.com/{page[:5]}/{page[5:10]}/{page[10:]}/item.htm?query=1"
        + ("" if number < len(HOT_CHANNELS) else f"&channel_id={number - len(HOT_CHANNELS)}")
        for number, page in enumerate(pages)
    ]


URLS = tuple(_urls())


def chosen(of: Sequence[str], index: NDArray[np.int64]) -> pa.StringArray:
    """The texts at these places."""
    return pa.array(of, pa.string()).take(pa.array(index))


def letters(random: np.random.Generator, lengths: NDArray[np.int64]) -> pa.StringArray:
    """Texts of so many small letters each."""
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    text = random.integers(ord("a"), ord("z") + 1, int(ends[-1]), dtype=np.uint8)
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(text))


def some_letters(random: np.random.Generator, count: int, most: int) -> pa.StringArray:
    """Texts of at least three letters, and fewer than `most`."""
    return letters(random, random.integers(SHORTEST, most, count))


def filling(random: np.random.Generator, count: int, wanted: int, taken: int) -> pa.StringArray:
    """Texts that fill what is `taken` up to the `wanted` bytes on average, a fifth more or less."""
    missing = max(0, wanted - taken)
    spread = round(missing * 0.2)
    return letters(random, missing + random.integers(-spread, spread + 1, count))


def patterned(random: np.random.Generator, count: int, pattern: str) -> pa.StringArray:
    """Texts of a pattern, in which each `a` is some letter and each `0` some digit."""
    text = np.tile(np.frombuffer(pattern.encode(), np.uint8), (count, 1))
    for sign, first, size in (("a", "a", 26), ("0", "0", 10)):
        at = np.flatnonzero(text[0] == ord(sign)) if count else np.empty(0, np.int64)
        text[:, at] = random.integers(ord(first), ord(first) + size, (count, len(at)), np.uint8)
    ends = np.arange(count + 1, dtype=np.int32) * len(pattern)
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(text))
