"""Addresses that open something for whoever knows them: logs show where they lead, not more."""

import re

MASK = "***"
PLACES = ("join/", "invitations/", "reports/of/", "password/reset/key/", "confirm-email/")
"""What stands before the secret, which ends at the next slash; a test looks for others."""
_SECRET = re.compile(rf"(/(?:{'|'.join(map(re.escape, PLACES))}))[^/\s?&\"'<>\\]+")


def masked(text: str) -> str:
    """A text, such as a path, without the secrets in the addresses that it has."""
    return _SECRET.sub(rf"\1{MASK}", text) if "/" in text else text
