"""What templates of advice need beside numbers and names."""

from __future__ import annotations

from collections.abc import Iterator

from django import template

from advisor.advice.registry import topic_words, variants
from advisor.advice.shared.shown import AdviceTable, TableColumn

register = template.Library()


@register.filter
def topic_name(topic: str) -> str:
    """What advice is about, in words."""
    return topic_words(topic)


@register.filter
def kind_name(kind: str) -> str:
    """What a recommendation of this kind is about, in words."""
    return {one.name: one.words for one in variants()}.get(kind, kind)


@register.filter
def rows_of_table(table: AdviceTable) -> Iterator[list[tuple[str | None, TableColumn]]]:
    """Each row as cells with their columns."""
    for row in table.rows:
        yield list(zip(row, table.columns, strict=True))
