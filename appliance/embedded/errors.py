"""Errors of the embedded mode.

EmbeddedError
├── NoServerProgram     a server program is missing or too old
└── ChildFailed         a child process did not start or did not stay up
"""


class EmbeddedError(Exception):
    """The embedded mode cannot go on; the text says what, which and what to do."""


class NoServerProgram(EmbeddedError):
    """A server program is missing or too old."""


class ChildFailed(EmbeddedError):
    """A child process did not start or did not stay up."""
