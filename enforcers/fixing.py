"""The command `doctor --fix`: shows files, asks, and writes what is agreed to. Never reboots."""

import sys
from collections.abc import Callable, Iterable
from enum import StrEnum

from enforcers.atomic_file import write_atomically
from enforcers.errors import StateError
from enforcers.fix import MARK, Fix
from enforcers.host_fs import HostFs

READABLE = 0o644
NOTHING = "There is nothing to fix: no file would make more enforceable here."
NO_TERMINAL = (
    "sluice-enforcer: nothing is written, because there is no terminal to ask at; "
    "--yes writes without asking"
)


class _Present(StrEnum):
    """What is in the place of a file."""

    NOTHING = "nothing"
    SAME = "the same"
    OURS = "an earlier one"
    OTHERS = "somebody else's"


def offer(fixes: Iterable[Fix], host_fs: HostFs, *, agrees: Callable[[str], bool] | None) -> int:
    """Show each file that is missing and write it if `agrees` says so to a question.

    `agrees` None means that nobody can be asked: files are shown and not written. The exit
    status is 0 unless a file could not be written or nobody could be asked.
    """
    offered = list(fixes)
    if not offered:
        print(NOTHING)
        return 0
    problems = [
        problem for fix in offered if (problem := _offer(fix, host_fs, agrees)) is not None
    ]
    for problem in dict.fromkeys(problems):
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def ask(question: str) -> bool:
    """What a person at the terminal answers; anything but yes is no."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        print()
        return False


def _offer(fix: Fix, host_fs: HostFs, agrees: Callable[[str], bool] | None) -> str | None:
    """Deal with one file; the problem, if there is one."""
    print(f"For {fix.gives}:\n")
    present = _present(fix, host_fs)
    if present is _Present.SAME:
        print(f"  {fix.path} is written already.\n")
        _print_steps("Still to do", fix.next_steps)
        return None
    print(f"  {fix.path}\n")
    for line in fix.text.splitlines():
        print(f"      {line}")
    print()
    if present is _Present.OTHERS:
        return (
            f"sluice-enforcer: {fix.path} is somebody else's and is left alone; "
            "put into it what is shown"
        )
    if agrees is None:
        return NO_TERMINAL
    if not agrees(f"Replace the earlier {fix.path}?" if present is _Present.OURS else "Write it?"):
        print("Not written.\n")
        return None
    try:
        _write(fix, host_fs)
    except StateError as error:
        return f"sluice-enforcer: {error}"
    print("Written.\n")
    _print_steps("To do next", fix.next_steps)
    _print_steps("To undo", (f"rm {fix.path}", *fix.undo_steps))
    return None


def _present(fix: Fix, host_fs: HostFs) -> _Present:
    path = host_fs.path(fix.path)
    if not path.exists() and not path.is_symlink():
        return _Present.NOTHING
    text = host_fs.read_or_none(fix.path)
    if text == fix.text:
        return _Present.SAME
    is_ours = text is not None and text.startswith(f"{MARK}\n") and not path.is_symlink()
    return _Present.OURS if is_ours else _Present.OTHERS


def _write(fix: Fix, host_fs: HostFs) -> None:
    path = host_fs.path(fix.path)
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(
            f"{path.parent} cannot be made: {error.strerror}; run it as root"
        ) from error
    write_atomically(path, fix.text.encode(), mode=READABLE)


def _print_steps(head: str, steps: Iterable[str]) -> None:
    print(f"{head}:")
    for step in steps:
        print(f"    {step}")
    print()
