"""What a new database starts with: one organisation, and a person who may do everything in it."""

import secrets

from django.contrib.auth import get_user_model
from django.db import transaction

from accounts.models import Membership, Organisation
from accounts.roles import Role
from appliance.embedded.prepared import NewLogin

DEMO_SLUG = "demo"
ADMIN_NAME = "admin"


@transaction.atomic
def create_first_login() -> NewLogin | None:
    """Make the demo organisation with its admin; None when the database has organisations."""
    if Organisation.objects.exists():
        return None
    organisation = Organisation.objects.create(slug=DEMO_SLUG, name="Demo")
    password = secrets.token_urlsafe(12)
    user = get_user_model().objects.create_superuser(username=ADMIN_NAME, password=password)
    Membership.objects.create(organisation=organisation, user=user, role=Role.OWNER)
    return NewLogin(username=ADMIN_NAME, password=password)
