"""The text format of Prometheus, version 0.0.4, as its documentation states it.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


class Kind(StrEnum):
    """What a family's numbers are; a counter never falls while the agent runs."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number. A `value` of None is not shown: absence is no number.

    `suffix` is that of a summary's parts, `_sum` and `_count`.
    """

    value: float | None
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The samples of one name; `words` explain it, with its unit."""

    name: str
    kind: Kind
    words: str
    samples: tuple[Sample, ...]

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise ValueError(f"{self.name!r} cannot be the name of a metric")
        for labels in {tuple(sample.labels) for sample in self.samples}:
            for label in labels:
                if _LABEL.fullmatch(label) is None:
                    raise ValueError(f"{label!r} cannot be the name of a label")


def render(families: Iterable[Family]) -> bytes:
    """The text of all families. One without a number to show has no lines at all."""
    return "".join(line for family in families for line in _lines(family)).encode(
        errors="replace"  # A name that came as half of a surrogate pair.
    )


def _lines(family: Family) -> Iterator[str]:
    known = [(item, item.value) for item in family.samples if _is_shown(item.value)]
    if not known:
        return
    yield f"# HELP {family.name} {_escaped(family.words)}\n"
    yield f"# TYPE {family.name} {family.kind}\n"
    for sample, value in known:
        assert value is not None  # Those without are not shown.
        labels = ",".join(f'{key}="{_quoted(text)}"' for key, text in sample.labels.items())
        place = f"{{{labels}}}" if labels else ""
        yield f"{family.name}{sample.suffix}{place} {_number(value)}\n"


def _is_shown(value: float | None) -> bool:
    """A number that is none would spoil every sum over it."""
    return value is not None and not math.isnan(value)


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
