"""Lets this Python's environment import what another one has, behind its own packages.

.venvs/4.0/bin/python -m scripts.shared_packages .venv
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path


def main(environment: str) -> str | None:
    """Writes the file that Python follows when it starts; or says why there is nothing to share."""
    own = Path(sysconfig.get_path("purelib"))
    theirs = Path(environment).absolute() / own.relative_to(sys.prefix)
    if not theirs.is_dir():
        return f"{theirs} is no folder: {environment} is no environment of this version of Python."
    # Files like this one are followed there, too: a package in development is one.
    (own / "shared.pth").write_text(f"import site; site.addsitedir({str(theirs)!r})\n")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
