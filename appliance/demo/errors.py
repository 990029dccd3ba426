"""Errors of the demo.

DemoError
├── CommandFailed      a command ended with a status other than 0
└── StepFailed         a step of the scenario did not reach its end
"""


class DemoError(Exception):
    """The demo cannot go on; the text says what, which and what to do."""


class CommandFailed(DemoError):
    """A command ended with a status other than 0."""

    def __init__(self, *, argv: list[str], status: int, output: str) -> None:
        super().__init__(f"`{' '.join(argv)}` ended with status {status}: {output.strip()}")
        self.status = status


class StepFailed(DemoError):
    """A step of the scenario did not reach its end."""
