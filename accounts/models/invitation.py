"""Invitations into an organisation; of the secret in the link only the hash is stored."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from accounts.roles import Role


class Invitation(models.Model):
    """Makes whoever has the link a member, once."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="invitations"
    )
    role = models.CharField(max_length=10, choices=Role.choices)
    mail = models.EmailField(blank=True)
    digest = models.CharField(max_length=64, unique=True)
    invited_by = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet["Invitation"].as_manager()

    class Meta:
        ordering = ["organisation", "-created_at", "pk"]

    def __str__(self) -> str:
        return f"{self.role} of {self.organisation}, until {self.expires_at:%Y-%m-%d %H:%M}"
