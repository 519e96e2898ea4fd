"""Fixtures of the checkpoint reader that these tests ask for, too."""

from tests.unit.checkpoint.conftest import each_reader as each_reader
