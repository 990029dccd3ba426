"""Organisations and their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

from django.conf import settings
from django.db import models

from accounts.roles import Action, Role, allows

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

Row = TypeVar("Row", bound=models.Model)


class OrganisationQuerySet(models.QuerySet["Organisation"]):
    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> OrganisationQuerySet:
        """Organisations that the user is a member of; none for an anonymous user."""
        if not user.is_authenticated:
            return self.none()
        return self.filter(memberships__user_id=user.pk)


class Organisation(models.Model):
    """A tenant: every other row belongs to exactly one.

    Of the quotas None is the default of the installation, and 0 means that there is none.
    From `deletion_due_at` on it is deleted with all its rows. The sample is one to try Sluice on,
    which a program sends for.
    """

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    quota_points_per_s = models.PositiveBigIntegerField(null=True, blank=True)
    quota_bytes_per_s = models.PositiveBigIntegerField(null=True, blank=True)
    quota_series = models.PositiveBigIntegerField(null=True, blank=True)
    quota_hosts = models.PositiveBigIntegerField(null=True, blank=True)
    deletion_due_at = models.DateTimeField(null=True, blank=True)
    is_sample = models.BooleanField(default=False, db_default=False)

    objects = OrganisationQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class OrganisationOwnedQuerySet(models.QuerySet[Row]):
    """Rows with an `organisation` column; people reach rows only through `visible_to`."""

    def visible_to(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Rows of the organisations that the user is a member of."""
        return self.filter(organisation__in=Organisation.objects.visible_to(user))


class Membership(models.Model):
    """One person's role in one organisation; groups at the login provider may have given it.

    `tour_step` is where the person is in the tour of a sample, counted from 1.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="memberships"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    from_groups = models.BooleanField(default=False, db_default=False)
    tour_step = models.PositiveSmallIntegerField(default=1, db_default=1)
    tour_closed = models.BooleanField(default=False, db_default=False)

    class Meta:
        ordering = ["organisation", "user"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "user"], name="one_role_per_member")
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.organisation}"

    def may(self, action: Action) -> bool:
        return allows(self.role, action)

    @property
    def may_operate(self) -> bool:
        """Whether this member may approve, reject and roll back."""
        return self.may(Action.DECIDE)
