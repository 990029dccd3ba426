"""Errors of the embedded mode.

EmbeddedError
├── DataDirError        the data directory cannot be used as it is
├── NoServerProgram     a server program is missing or too old
└── ChildFailed         a child process did not start or did not stay up
"""


class EmbeddedError(Exception):
    """The embedded mode cannot go on; the text says what, which and what to do."""


class DataDirError(EmbeddedError):
    """The data directory cannot be used as it is."""


class NoServerProgram(EmbeddedError):
    """A server program is missing or too old."""


class ChildFailed(EmbeddedError):
    """A child process did not start or did not stay up."""
