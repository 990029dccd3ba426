"""Errors of the host agent.

EnforcerError
├── ContractError      a document or report that breaks the wire format; carries the JSON path
├── SignatureError     a document that this host's key did not sign
├── ConfigError        a configuration that cannot be used: file, key, value, what is allowed
├── CommandError       a kernel tool that failed; carries the command and what it said
├── StateError         the agent's own files on disk cannot be read or written
└── ServerError        the service could not be reached or gave no usable answer
"""


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
