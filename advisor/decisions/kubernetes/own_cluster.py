"""The cluster in which the server itself runs, read by the account that its pod was given.

That account is the installation's. So organisations may have it used only as far as the setting
`SLUICE_CLUSTER_ORGANISATIONS` names them, and only for the cluster whose account it is.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from accounts.models import Organisation
from ingest.core.source_errors import AnswerError

ADDRESS = "https://kubernetes.default.svc"
"""What pods call the API of their cluster."""
SETTING = "SLUICE_CLUSTER_ORGANISATIONS"
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod has the account's token, which is a new one every hour, and the authority."""


def is_by_own_account(address: str, token: str) -> bool:
    """Whether a source is read by the account of the server's pod."""
    return address == ADDRESS and not token


def may_use_own_account(organisation: Organisation) -> bool:
    """Whether the installation lets this organisation read the server's cluster."""
    return organisation.slug in settings.CLUSTER_ORGANISATIONS


def own_account() -> tuple[str, str]:
    """The token and the certificate of the authority; AnswerError if this is no such pod."""
    try:
        token, authority = (
            (ACCOUNT / name).read_text(encoding="ascii").strip() for name in ("token", "ca.crt")
        )
    except (OSError, UnicodeDecodeError) as error:
        raise AnswerError(
            f"the worker's pod has no account to read its cluster by: {error}; "
            "install the chart with clusterReader.enabled, or give the source a token"
        ) from error
    return token, authority
