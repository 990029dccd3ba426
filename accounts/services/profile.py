"""Change one's own profile."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from django.db import transaction

from accounts.errors import AccountsError
from accounts.models.profile import Profile, Theme

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser

LONGEST_NAME = 150


@transaction.atomic
def change_profile(*, user: AbstractUser, name: str, time_zone: str, theme: str) -> Profile:
    """Keep how the person is called, and how pages are to be for them."""
    if time_zone and time_zone not in available_timezones():
        raise AccountsError(f'there is no time zone "{time_zone[:64]}"; such as Europe/Berlin')
    if theme not in Theme.values:
        raise AccountsError(f"there is no such theme; one of {', '.join(Theme.values)}")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise AccountsError(f"a name has at most {LONGEST_NAME} letters that can be printed")
    user.first_name, user.last_name = name, ""
    user.save(update_fields=["first_name", "last_name"])
    profile, _ = Profile.objects.update_or_create(
        user_id=user.pk, defaults={"time_zone": time_zone, "theme": theme}
    )
    return profile
