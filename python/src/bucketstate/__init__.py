"""Turns the bucketstate state store on for a Spark session, and reads what it reports."""

from bucketstate.config import PROVIDER_CLASS, Conf
from bucketstate.errors import BucketstateError, InvalidSettingError, JarNotFoundError, SessionError
from bucketstate.session import configure, enable, jar_path, spark_settings

__version__ = "0.1.0"

__all__ = [
    "PROVIDER_CLASS",
    "BucketstateError",
    "Conf",
    "InvalidSettingError",
    "JarNotFoundError",
    "SessionError",
    "__version__",
    "configure",
    "enable",
    "jar_path",
    "spark_settings",
]
