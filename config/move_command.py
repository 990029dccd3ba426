"""The command that moves workloads, from its setting."""

from __future__ import annotations

from advisor.core.move_command import parse_template
from config.env import SettingError


def move_command(text: str) -> tuple[str, ...]:
    """The words of the template; none where none is configured."""
    if not text:
        return ()
    try:
        return parse_template(text)
    except ValueError as error:
        raise SettingError(f"SLUICE_MOVE_COMMAND: {error}") from error
