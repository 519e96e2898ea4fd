"""The release that this is, for whatever writes it into a file, too."""

__version__ = "0.1.0"
"""The release; the jars that the package carries are of the same one."""
