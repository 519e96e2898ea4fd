"""Turns the bucketstate state store on for a Spark session, and reads what it reports."""

from bucketstate.config import EXTENSION_CLASS, PROVIDER_CLASS, Conf
from bucketstate.errors import (
    BucketstateError,
    ExtensionMissingWarning,
    InvalidArgumentError,
    InvalidSettingError,
    JarNotFoundError,
    SessionError,
)
from bucketstate.jar import jar_path
from bucketstate.session import configure, enable, spark_settings

__version__ = "0.1.0"
"""The release; the jars that the package carries are of the same one."""

__all__ = [
    "EXTENSION_CLASS",
    "PROVIDER_CLASS",
    "BucketstateError",
    "Conf",
    "ExtensionMissingWarning",
    "InvalidArgumentError",
    "InvalidSettingError",
    "JarNotFoundError",
    "SessionError",
    "__version__",
    "configure",
    "enable",
    "jar_path",
    "spark_settings",
]
