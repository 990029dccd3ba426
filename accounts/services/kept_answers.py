"""Keep what was answered under a key, so that who asks again changes nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from accounts.models import KeptAnswer, Token

KEPT_FOR = timedelta(hours=24)


def claim_key(*, token: Token, key: str, asked: str, now: datetime) -> KeptAnswer | None:
    """Begin a request under a key; if there was one already, that with its answer.

    Within a transaction: whoever asks the same meanwhile waits until it ends.
    """
    own = KeptAnswer.objects.filter(organisation=token.organisation_id, token=token)
    own.filter(created_at__lt=now - KEPT_FOR).delete()
    try:
        with transaction.atomic():
            KeptAnswer.objects.create(
                organisation_id=token.organisation_id, token=token, key=key, asked=asked,
                created_at=now,
            )  # fmt: skip
    except IntegrityError:
        return own.get(key=key)
    return None


def keep_answer(
    *, token: Token, key: str, status: int, headers: Mapping[str, str], body: str
) -> None:
    """Keep the answer of a request that was begun under this key."""
    KeptAnswer.objects.filter(token=token, key=key).update(
        status=status, headers=dict(headers), body=body
    )
