"""JSON as text, as this package stores it: without blanks, in Unicode, with NaN."""

from __future__ import annotations

import json
from json import encoder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)
_DECODER = json.JSONDecoder()


def _encode() -> Callable[[Any], str]:
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return _ENCODER.encode
    # As `JSONEncoder.encode` does it, which makes this anew for each text.
    made = make(
        None, _ENCODER.default, encoder.encode_basestring, None, ":", ",", False, False, True
    )
    return lambda value: "".join(made(value, 0))


encode = _encode()
"""The text of a JSON value."""


def decode(text: str) -> Any:
    """The JSON value of a text that `encode` made, or another one without blanks around it.

    Raises ValueError for what is none.
    """
    try:
        value, end = _DECODER.scan_once(text, 0)  # type: ignore[attr-defined]
    except StopIteration:
        end = -1
    return value if end == len(text) else json.loads(text)
