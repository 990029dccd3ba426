"""The link of an invitation, and the mail that brings it."""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email
from django.http import HttpRequest
from django.urls import reverse

from accounts.errors import AccountsError
from accounts.models import Organisation

LONGEST_MAIL = 254
log = logging.getLogger(__name__)


def checked_mail(mail: str) -> str:
    """The address, which may be none; AccountsError for a text that is no address."""
    try:
        if mail:
            validate_email(mail[: LONGEST_MAIL + 1])
    except ValidationError as error:
        raise AccountsError(f"{mail} is no mail address") from error
    return mail


def invitation_link(request: HttpRequest, secret: str) -> str:
    """The address that lets somebody in."""
    return request.build_absolute_uri(reverse("invitation", args=[secret]))


def mailed(organisation: Organisation, mail: str, link: str) -> bool:
    """Whether the mail server took it; if not, the link still works."""
    if not mail or not settings.HAS_MAIL:
        return False
    text = (
        f"You are invited to {organisation.name} on Sluice. This link lets you in, once:\n\n"
        f"{link}\n\nIf you do not know why you got this, throw it away.\n"
    )
    try:
        send_mail(f"[Sluice] Invitation to {organisation.name}", text, None, [mail])
    except OSError as error:
        log.warning("invitation not mailed", extra={"reason": str(error)})
        return False
    return True
