"""JSON under a checksum, as manifests and savepoints are (`docs/format.md`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from bucketstate.checkpoint.format.compression import crc32c
from bucketstate.checkpoint.format.damage import damaged, newer

_END = re.compile(rb',\n  "checksum" : "crc32c:([0-9a-f]{8})"\n}\n')


def unsealed(data: bytes, path: str, kind: str, known: int) -> dict[str, Any]:
    """The members of a file that says it is of this kind, of a format version that is known.

    DamagedFileError and NewerFormatError name the file.
    """
    what = kind.removeprefix("bucketstate-")
    try:
        raw = json.loads(data)
    except ValueError:
        raw = None
    if isinstance(raw, dict) and raw.get("format") == kind:
        version = raw.get("formatVersion")
        # Before the checksum: a newer format may have another one.
        if isinstance(version, int) and version > known:
            raise newer(path, f"a {what}", known, version)
    end = _END.search(data, max(0, len(data) - 64))
    if end is None or end.end() != len(data):
        raise damaged(path, "its last member is not its checksum: it was cut off, or written over")
    expected, found = int(end[1], 16), crc32c(data[: end.start()])
    if found != expected:
        raise damaged(path, f"expected checksum {expected:08x}, found {found:08x}")
    if not isinstance(raw, dict) or raw.get("format") != kind:
        raise damaged(path, f"it is not the JSON of a {what}")
    if raw.get("formatVersion") not in range(1, known + 1):
        raise damaged(path, f"it has the format version {raw.get('formatVersion')}")
    return raw


def sealed(kind: str, version: int, members: Mapping[str, Any]) -> bytes:
    """The bytes of a file of this kind and format version."""
    body = json.dumps({"format": kind, "formatVersion": version, **members}, indent=2)
    data = body.removesuffix("\n}").encode()
    return data + f',\n  "checksum" : "crc32c:{crc32c(data):08x}"\n}}\n'.encode()
