"""The part of an organisation's rules that belongs to one vCenter, between two comments."""

from __future__ import annotations

from collections.abc import Sequence

_BEGIN, _END = "# begin of vCenter", "# end of vCenter"


def with_part(text: str, lines: Sequence[str], *, name: str) -> str:
    """The text with these lines as the part of that vCenter; without lines it has none."""
    begin, end = f"{_BEGIN} {name}", f"{_END} {name}"
    kept = text.splitlines()
    at = len(kept)
    if begin in kept and end in kept[kept.index(begin) :]:
        at = kept.index(begin)
        del kept[at : kept.index(end, at) + 1]
    part = [begin, *lines, end] if lines else []
    whole = [*kept[:at], *part, *kept[at:]]
    if whole == text.splitlines():
        return text
    return "\n".join(whole) + "\n" if whole else ""
