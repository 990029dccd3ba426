"""What people say of an incident, and who takes care of it."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.congestion import Incident
from ingest.core.lengths import LONGEST_STATED_NAME

LONGEST_NOTE = 2000


class IncidentNote(models.Model):
    """One thing that somebody said: a text, or, with `is_duty`, who takes care from then on.

    The newest with `is_duty` counts; an empty `carer_name` in it means nobody. It is a name, which
    stays when the person is gone.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="incident_notes"
    )
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="notes")
    at = models.DateTimeField()
    by = models.CharField(max_length=LONGEST_STATED_NAME)
    text = models.CharField(max_length=LONGEST_NOTE, blank=True, default="")
    is_duty = models.BooleanField(default=False)
    carer_name = models.CharField(max_length=LONGEST_STATED_NAME, blank=True, default="")

    objects = OrganisationOwnedQuerySet["IncidentNote"].as_manager()

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"{self.by} at {self.at:%Y-%m-%d %H:%M}"
