"""The keys of an agent, each with the token that it shows: both come, overlap and end together."""

from __future__ import annotations

import secrets

from django.db import models

from accounts.models.token import Token
from ingest.models.host import Host

HEX_OF_KEY = 64


def new_salt() -> str:
    return secrets.token_hex(16)


class AgentKey(models.Model):
    """Public keys alone: `public_key` checks the host's documents, `report_key` its reports.

    The `salt` makes the key of documents another one for each enrolment. `newest_number` is
    that of the newest report; one with the same or a smaller one comes a second time.
    """

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="agent_keys")
    token = models.OneToOneField(Token, on_delete=models.CASCADE, related_name="agent_key")
    salt = models.CharField(max_length=32, default=new_salt)
    public_key = models.CharField(max_length=HEX_OF_KEY)
    report_key = models.CharField(max_length=HEX_OF_KEY)
    newest_number = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["host", "pk"]

    def __str__(self) -> str:
        return f"keys of {self.host}"
