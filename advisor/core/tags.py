"""Tags of workloads: what collectors or people say of them, as KEY=VALUE."""

from __future__ import annotations

from collections.abc import Iterable

KEYS = ("namespace", "pool", "tag", "unit")
LABEL = "label."
LONGEST_TAG = 300
MOST_TAGS = 100
"""Of a workload, and of a team."""


def tag_text(key: str, value: str) -> str:
    """A tag as it is kept and shown."""
    return f"{key}={value}"


def problem_of_tag(text: str) -> str | None:
    """Why this is no tag that can be stated; None if it is one."""
    key, equals, value = text.partition("=")
    if not (equals and value.strip()):
        return f'"{text[:60]}" is no tag; write it like label.team=shop'
    is_label = key.startswith(LABEL) and key != LABEL
    if key not in KEYS and not is_label:
        return f'"{key[:60]}" is no key of a tag; there are {", ".join(KEYS)} and {LABEL}NAME'
    if len(text) > LONGEST_TAG or not text.isprintable():
        return f"a tag has up to {LONGEST_TAG} letters that can be printed"
    return None


def problems_of_tags(texts: Iterable[str]) -> list[str]:
    """Why these cannot be stated together; empty if they can."""
    every = list(texts)
    found = [problem for one in every if (problem := problem_of_tag(one)) is not None]
    if len(every) > MOST_TAGS:
        found.append(f"there are {len(every)} tags; there may be {MOST_TAGS}")
    return found


def read_tags(text: str) -> list[str]:
    """The tags of a text with one on each line."""
    return [line.strip() for line in text.splitlines() if line.strip()]
