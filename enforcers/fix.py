"""A file of the host's configuration that a person would write to make more enforceable."""

from dataclasses import dataclass

MARK = "# Written by `sluice-enforcer doctor --fix`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One file, as a host path, and what a person does before it counts.

    `lines` follow the mark; `gives` says what will be enforceable. `next_steps` are commands, or
    a sentence where there is none; `undo_steps` follow the removal of the file.
    """

    path: str
    lines: tuple[str, ...]
    gives: str
    next_steps: tuple[str, ...]
    undo_steps: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join((MARK, *self.lines, ""))
