"""Which places of a document hold bytes: their base64 looks like any other text.

A document names them itself, so that a field whose type has changed from bytes to text, or the
other way, is not read as what it is not. A place is the steps that lead to it, joined by dots: a
field's name, or `[]` for the elements of a list. A map is a list of keys with values, also where it
is stored as an object.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from bucketstate.stateful.codec.codecs import BytesCodec
from bucketstate.stateful.errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from bucketstate.stateful.codec.codecs import Codec

BYTES = "$bytes"
"""The name of the places in a document, in front of the fields."""


class Places:
    """The places of one state class. Immutable.

    Args:
        codecs: the codec at each place that can be looked into, of the fields and their parts.
    """

    def __init__(self, codecs: Iterable[tuple[str, Codec]]) -> None:
        every = [found for place, codec in codecs for found in _places(place, codec)]
        self._expected = {place: codec.expected for place, codec in every}
        self.bytes = [place for place, codec in every if isinstance(codec, BytesCodec)]

    def check(
        self, document: Mapping[str, Any], marked: Iterable[str], beside: Collection[str]
    ) -> None:
        """MismatchError for what was stored as bytes and is read as text, or the other way.

        Only the first can be seen of parts that lie `beside` the document.
        """
        was, now = set(marked), set(self.bytes)
        for place in sorted((was - now) & self._expected.keys()):
            steps = place.split(".")
            # What those hold is not at hand.
            found = "Li4u" if steps[0] in beside else next(_at(document, steps), None)
            if found is not None:
                raise self._mismatch(place, base64.b64decode(found))
        for place in sorted(now - was):
            for found in _at(document, place.split(".")):
                raise self._mismatch(place, found)

    def _mismatch(self, place: str, found: Any) -> MismatchError:
        return MismatchError(self._expected[place], found, place.replace(".[]", "[]"))


def _places(place: str, codec: Codec) -> Iterator[tuple[str, Codec]]:
    yield place, codec
    for step, inner in codec.inner_codecs():
        yield from _places(f"{place}.{step}" if step else place, inner)


def _at(value: Any, steps: list[str]) -> Iterator[Any]:
    """What lies at a place of a document, but for nulls."""
    if not steps:
        if value is not None:
            yield value
        return
    first, *rest = steps
    inner: Iterable[Any] = ()
    if first == "[]" and isinstance(value, dict):
        inner = [{"key": k, "value": v} for k, v in value.items()]
    elif first == "[]" and isinstance(value, list):
        inner = value
    elif isinstance(value, dict):
        inner = [value.get(first)]
    for each in inner:
        yield from _at(each, rest)
