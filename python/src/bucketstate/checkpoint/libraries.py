"""What reading a checkpoint takes and nothing else does: imported before all that imports it."""

from __future__ import annotations

from bucketstate.optional import needed

for _module, _library in (
    ("google_crc32c", "google-crc32c"),
    ("rocksdict", "rocksdict"),
    ("xxhash", "xxhash"),
):
    needed(_module, extra="checkpoint", what="Reading a checkpoint", library=_library)
