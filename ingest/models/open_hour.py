"""Hours of a host with samples that are not in the history yet."""

from __future__ import annotations

from django.db import models

from ingest.models.host import Host


class OpenHour(models.Model):
    """Samples came that may change what is known of the hour of this host that begins `at`.

    Each write adds the hours that it touches, in its own transaction; whoever seals an hour takes
    the row away first and then reads the samples. So no sample falls between the two.
    """

    pk = models.CompositePrimaryKey("host_id", "at")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()

    class Meta:
        ordering = ["at", "host"]

    def __str__(self) -> str:
        return f"{self.host_id} from {self.at:%Y-%m-%d %H:%M}"
