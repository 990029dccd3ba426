"""From when on rows of samples were never dropped."""

from __future__ import annotations

from django.db import models


class KeptRows(models.Model):
    """Rows of samples from `since` on are all there; of earlier ones some may be dropped.

    There is one row at most; without it none was ever dropped. Retention moves `since` on before
    it drops anything, and whoever seals an hour locks it for as long as that takes.
    """

    since = models.DateTimeField()

    class Meta:
        verbose_name_plural = "kept rows"

    def __str__(self) -> str:
        return f"since {self.since:%Y-%m-%d %H:%M}"
