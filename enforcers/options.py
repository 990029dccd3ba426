"""What a command is asked to do."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True, kw_only=True)
class Options:
    """The command and its options; `config` is there for every command that has one."""

    command: str | None = None
    config: Path = Path()
    json: bool = False
    verbose: bool = False
    check: bool = False
    fix: bool = False
    yes: bool = False
    force: bool = False
    if_over: bool = False
    device: str = ""
    folder: Path | None = None
    seconds: int = 0
    once: bool = False
    host: str = ""
    root: str = "/"
    ask_qemu: bool = False
