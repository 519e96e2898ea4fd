"""What can go wrong on the Python side. Each message ends with what to do about it."""


class BucketstateError(Exception):
    """The base of every error this package raises."""


class InvalidSettingError(BucketstateError, ValueError):
    """A setting that can never work as given: an unknown key or a value that is not allowed."""


class JarNotFoundError(BucketstateError, FileNotFoundError):
    """The package was installed or built without the provider's jar."""


class SessionError(BucketstateError, RuntimeError):
    """The provider's jar cannot reach this session any more: its JVM runs without it."""
