"""Errors of the host agent.

EnforcerError
├── ContractError      a document or report that breaks the wire format; carries the JSON path
├── SignatureError     a document that this host's key did not sign
├── ConfigError        a configuration that cannot be used: file, key, value, what is allowed
├── ValueRefused       a value of a table that its owner cannot use: key, value, what is allowed
├── CommandError       a kernel tool that failed; carries the command and what it said
├── MonitorError       the monitor of a QEMU gave no usable answer
│   └── MonitorRefused it did not do what it was told
├── StateError         the agent's own files on disk cannot be read or written
│   └── DeviceTaken    another agent governs a device
├── ServerError        the service could not be reached or gave no usable answer
└── RefusedDocument    a sound document this host must not act on
"""

import shlex
from collections.abc import Sequence


class EnforcerError(Exception):
    """Base of every error the agent raises on purpose."""


class ContractError(EnforcerError):
    """The data breaks the wire format at `path` (JSON path, `$` is the whole)."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class SignatureError(EnforcerError):
    """The document is unsigned, altered, or signed with another key."""


class ConfigError(EnforcerError):
    """A configuration value cannot be used; says the file, the key, the value and what may be.

    Without a key it is the file as a whole.
    """

    def __init__(self, file: str, key: str | None, value: object, allowed: str) -> None:
        place = file if key is None else f"{file}: {key} = {value!r}"
        super().__init__(f"{place}: {allowed}")
        self.key = key


class ValueRefused(EnforcerError):
    """A mechanism cannot use a value of its own table; the reader adds file and table."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key} = {value!r}: {allowed}")
        self.key = key
        self.value = value
        self.allowed = allowed


class CommandError(EnforcerError):
    """A kernel tool failed, or is not there; says the command and what it answered."""

    def __init__(self, argv: Sequence[str], answer: str) -> None:
        super().__init__(f"`{shlex.join(argv)}`: {answer}")
        self.argv = tuple(argv)
        self.answer = answer


class MonitorError(EnforcerError):
    """The monitor of a QEMU gave no usable answer; the text is the reason."""


class MonitorRefused(MonitorError):
    """The monitor of a QEMU did not do what it was told, or was not told at all."""


class StateError(EnforcerError):
    """A file of the agent's own cannot be read or written; says which and what to do."""


class DeviceTaken(StateError):
    """Another agent governs a device; says which process and what to do."""


class ServerError(EnforcerError):
    """The service could not be reached, or its answer was of no use.

    `is_final` means that sending the same again cannot succeed. `newest_number` is that of the
    newest report that the service took, where it refused another one for its number.
    """

    def __init__(
        self, problem: str, *, is_final: bool = False, newest_number: int | None = None
    ) -> None:
        super().__init__(problem)
        self.is_final = is_final
        self.newest_number = newest_number


class RefusedDocument(EnforcerError):
    """A sound document this host must not act on: foreign, old, expired or from the future."""
