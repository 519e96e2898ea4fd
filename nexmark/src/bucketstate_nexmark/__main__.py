"""`python -m bucketstate_nexmark`."""

from __future__ import annotations

import sys

from bucketstate_nexmark.cli import main

if __name__ == "__main__":
    sys.exit(main())
