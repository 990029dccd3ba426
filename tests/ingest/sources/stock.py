"""What lines of stock collectors become, without a database."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.core.batch import Batch, Rules, read_batch
from ingest.core.line_protocol import Precision
from ingest.core.mapping import Form
from ingest.sources.registry import find_head

NOW_NS = 1_700_000_000_000_000_000
RULES = Rules(
    precision=Precision.NS,
    now_ns=NOW_NS,
    earliest_ns=0,
    latest_ns=NOW_NS + 600 * 10**9,
    too_early="too early",
    too_late="too late",
)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A row: what it is about, and the columns that are known of it."""

    table: str
    host: str
    subject: str
    device: str = ""
    form: Form = Form.COUNTER
    values: tuple[tuple[str, float], ...]


def batch_of(*lines: str) -> Batch:
    """The lines at one moment."""
    text = "\n".join(f"{line} {NOW_NS}" for line in lines)
    return read_batch(text.encode(), RULES, find_head)


def kept(*lines: str) -> list[Kept]:
    """All rows of lines of one moment, in order of their series."""
    batch = batch_of(*lines)
    assert batch.rejections == []
    rows = [
        (place, table, values)
        for table, own in batch.rows.items()
        for (place, _), values in own.items()
    ]
    return [
        Kept(
            table=table.name,
            host=batch.series[place].host,
            subject=batch.series[place].subject,
            device=dict(batch.series[place].tags).get("device", ""),
            form=batch.series[place].form,
            values=tuple(
                (field.name, value)
                for field, value in zip(table.fields, values, strict=True)
                if value is not None
            ),
        )
        for place, table, values in sorted(rows, key=lambda row: row[0])
    ]


def said(*lines: str) -> set[tuple[str, str, str, str, str]]:
    """All facts of lines: host, kind, subject, name, value."""
    return {
        (fact.host, fact.kind, fact.subject, fact.name, fact.value)
        for fact in batch_of(*lines).facts
    }
