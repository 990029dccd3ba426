"""Programs that ask the API as a person."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpResponse
from django.test import Client

from accounts.models import Organisation, Scope, Token

BASE = "/api/v1/"


@dataclass(slots=True)
class Program:
    """Sends JSON with a token."""

    secret: str
    client: Client = field(default_factory=Client)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """The answer; `if_match="x"` is the header If-Match."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(
            method,
            path if path.startswith("/") else BASE + path,
            b"" if body is None else json.dumps(body).encode(),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.secret}"} | named,
        )

    def read(self, path: str) -> Any:
        """The JSON of a page that is there."""
        answer = self("GET", path)
        assert answer.status_code == 200, answer.content
        return answer.json()


def program_of(
    user: AbstractBaseUser, organisation: Organisation, scope: Scope = Scope.WRITE
) -> Program:
    """A program with a token of this person."""
    _, secret = Token.objects.issue(
        organisation=organisation, scope=scope, name="program", user=user
    )
    return Program(secret)
