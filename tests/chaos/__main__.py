"""`make chaos`: exit code 1 if anything was wrong; SIGTERM ends it with fewer kills."""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.chaos.run import chaos


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, required=True, help="how many")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="drawn without")
    parser.add_argument("--minutes", type=float, default=math.inf, help="ends then, with fewer")
    parser.add_argument("--json", type=Path, help="where the figures go")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    until = time.monotonic() + given.minutes * 60
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())

    def say(text: str) -> None:
        print(text, flush=True)

    def goes_on() -> bool:
        return time.monotonic() < until and not ended.is_set()

    tally = chaos(folder, given.kills, given.seed, say, goes_on=goes_on)
    print(tally.text())
    if given.json:
        given.json.write_text(json.dumps(tally.to_dict(), indent=2))
    if tally.wrong:
        print(f"Kept for a closer look: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
