"""What templates of advice need beside numbers and names."""

from __future__ import annotations

from collections.abc import Iterator

from django import template

from advisor.models import Topic
from advisor.queries.advice_kinds import KINDS
from advisor.queries.advice_table import AdviceTable, Column

register = template.Library()

_ABOUT = {
    Topic.POLICY: "policy",
    Topic.THRESHOLD: "congestion threshold",
    Topic.QUEUE_DEPTH: "queue depths",
    Topic.OFF_PEAK_WORK: "administrative work",
    Topic.PLACEMENT: "placement of disks",
    Topic.HOST_PLACEMENT: "placement of workloads",
    Topic.LIMIT_CHECK: "limits",
}


@register.filter
def topic_name(topic: str) -> str:
    """What advice is about, in words."""
    return _ABOUT[Topic(topic)]


_KINDS = dict(KINDS)


@register.filter
def kind_name(kind: str) -> str:
    """What a recommendation of this kind is about, in words."""
    return _KINDS.get(kind, kind)


@register.filter
def rows_of_table(table: AdviceTable) -> Iterator[list[tuple[str | None, Column]]]:
    """Each row as cells with their columns."""
    for row in table.rows:
        yield list(zip(row, table.columns, strict=True))
