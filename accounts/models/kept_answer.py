"""Answers to requests that changed something, for who did not hear them and asks again."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from accounts.models.sealed_text import SealedTextField
from accounts.models.token import Token

LONGEST_KEY = 200


class KeptAnswer(models.Model):
    """What a token was answered under a key; `asked` is the hash of what was asked for."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    token = models.ForeignKey(Token, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=LONGEST_KEY)
    asked = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    # It may hold a secret that is shown once.
    body = SealedTextField(blank=True)
    created_at = models.DateTimeField()

    objects = OrganisationOwnedQuerySet["KeptAnswer"].as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return f"{self.status} under {self.key}"
