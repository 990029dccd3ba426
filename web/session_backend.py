"""Who asks, with their profile, in one query: every page is drawn as it says."""

from __future__ import annotations

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser


class PersonBackend(AuthenticationBackend):  # type: ignore[misc]  # allauth has no types
    """Logs in as allauth does."""

    def get_user(self, user_id: Any) -> AbstractUser | None:
        found = get_user_model().objects.select_related("profile").filter(pk=user_id).first()
        return found if found is not None and self.user_can_authenticate(found) else None
