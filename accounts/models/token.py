"""Tokens, by which programs identify themselves; only their hash is stored."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from django.conf import settings
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet

TOKEN_PREFIX = "slu_"  # noqa: S105 - the public start of every secret, no secret itself
"""Marks a leaked secret as ours for secret scanners."""


class Scope(models.TextChoices):
    """What a token allows."""

    INGEST = "ingest"
    ENFORCE = "enforce"
    METRICS = "metrics"
    READ = "read"
    WRITE = "write"


OF_PEOPLE = (Scope.READ, Scope.WRITE)
"""A token of these scopes acts as a person; any other is of the organisation alone."""


def token_digest(secret: str) -> str:
    """SHA-256 of the secret: tokens are 256 random bits, so no salt or stretching is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenQuerySet(OrganisationOwnedQuerySet["Token"]):
    def issue(
        self,
        *,
        organisation: Organisation,
        scope: Scope,
        name: str,
        host: models.Model | None = None,
        user: models.Model | None = None,
        made_by: str = "",
        expires_at: datetime | None = None,
    ) -> tuple[Token, str]:
        """Create a token; the secret is returned once and cannot be read again."""
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = self.create(
            organisation=organisation,
            scope=scope,
            name=name,
            host_id=None if host is None else host.pk,
            user_id=None if user is None else user.pk,
            made_by=made_by,
            expires_at=expires_at,
            digest=token_digest(secret),
        )
        return token, secret

    def valid(self, secret: str, *, now: datetime) -> Token | None:
        """The token of this secret if it is neither revoked nor expired."""
        return (
            self.select_related("organisation", "host")
            .filter(digest=token_digest(secret), revoked_at=None)
            .exclude(expires_at__lte=now)
            .first()
        )


class Token(models.Model):
    """One scope for one organisation; an enforcer's token is bound to its host.

    With a `user` it acts as that person, in the role that they have at the time of asking.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    # By its label, because this app imports no other.
    host = models.ForeignKey("ingest.Host", null=True, blank=True, on_delete=models.CASCADE)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="tokens",
    )
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = TokenQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name", "pk"]
        constraints = [
            models.CheckConstraint(
                name="tokens_of_people_have_a_person",
                condition=models.Q(scope__in=OF_PEOPLE, user__isnull=False)
                | ~models.Q(scope__in=OF_PEOPLE) & models.Q(user=None),
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.scope})"
