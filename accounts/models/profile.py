"""How a person wants pages to be."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Theme(models.TextChoices):
    """The colours of pages; `system` is those that the browser is set to."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class Profile(models.Model):
    """Without a `time_zone` times are those of the browser; who has chosen nothing has no row."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="profile",
        primary_key=True,
    )
    time_zone = models.CharField(max_length=64, blank=True)
    theme = models.CharField(max_length=6, choices=Theme.choices, default=Theme.SYSTEM)

    def __str__(self) -> str:
        return f"{self.user}: {self.theme}, {self.time_zone or 'the zone of the browser'}"
