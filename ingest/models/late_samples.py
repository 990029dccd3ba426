"""Samples that came so late that windows may have been judged without them."""

from __future__ import annotations

from django.db import models

from ingest.models.host import Host


class LateSamples(models.Model):
    """What a write changed of the past: everything of this host after `changed_from`.

    Each late write adds a row in its own transaction. Whoever judges takes rows away.
    """

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="+")
    changed_from = models.DateTimeField()

    class Meta:
        verbose_name_plural = "late samples"

    def __str__(self) -> str:
        return f"{self.host_id} from {self.changed_from:%Y-%m-%d %H:%M:%S}"
