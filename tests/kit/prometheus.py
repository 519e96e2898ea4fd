"""Prometheus's text format and its expressions, as far as tests look into them."""

from __future__ import annotations

import re

METRIC = re.compile(r"\bbucketstate_[a-z_0-9]+")


def families(text: str) -> set[str]:
    """The metrics of a scrape; of a histogram with its three forms."""
    found = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            ends = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            found |= {name + end for end in ends}
    return found
