"""Views of pages that people saved under a name: what a page's address asks for."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models import Membership
from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.saved_views import LONGEST_QUERY, ViewedPage
from advisor.models.choices import choices_of
from ingest.core.lengths import LONGEST_STATED_NAME


class SavedView(models.Model):
    """The query of a page's address. Without a `member` all of the organisation see it."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="saved_views"
    )
    member = models.ForeignKey(
        Membership, null=True, blank=True, on_delete=models.CASCADE, related_name="saved_views"
    )
    page = models.CharField(max_length=20, choices=choices_of(ViewedPage))
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    query = models.CharField(max_length=LONGEST_QUERY, blank=True, default="")

    objects = OrganisationOwnedQuerySet["SavedView"].as_manager()

    class Meta:
        ordering = ["page", "name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "page", "name"],
                condition=Q(member__isnull=True),
                name="shared_view_name_is_unique",
            ),
            models.UniqueConstraint(
                fields=["member", "page", "name"],
                condition=Q(member__isnull=False),
                name="own_view_name_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return self.name
