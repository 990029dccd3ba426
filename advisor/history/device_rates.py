"""What each host measured of a datastore's device, window by window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from advisor.history.windows import Span
from advisor.models import Attachment
from ingest import queries
from ingest.core.rates import DiskRates


def device_rates(
    attachments: Iterable[Attachment], span: Span, *, max_points: int | None = None
) -> Iterator[tuple[Attachment, dict[datetime, list[DiskRates]]]]:
    """Rates by attachment and end of window; at most about `max_points` are read.

    The attachments come with their host.
    """
    for attachment in attachments:
        rates = queries.disk_rates(
            host=attachment.host,
            device=attachment.device,
            since=span.read_since,
            until=span.read_until,
            max_points=max_points,
        )
        yield attachment, span.group(rates)
