"""Chat and paging services, by Apprise, which knows how each wants its messages."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit
from uuid import UUID

import apprise

from advisor.notifications.channels.channel import NotSent, Place
from advisor.notifications.channels.inside import open_address
from advisor.notifications.message import Message

OF_THEIR_OWN = (
    "slack", "pagerduty", "opsgenie", "tgram", "discord", "gchat", "wxteams", "msteams",
    "splunk", "victorops", "pover",
)  # fmt: skip
"""Services at hosts that Apprise knows, so that no address leads elsewhere."""
AT_A_HOST = (
    "mmost", "mmosts", "rocket", "rockets", "matrix", "matrixs", "gotify", "gotifys", "ntfy",
    "ntfys", "workflow", "workflows",
)  # fmt: skip
"""Services at a host that the address names: looked up before, and by Apprise once more."""


class Service:
    """The address is that of Apprise, such as slack://TOKEN_A/TOKEN_B/TOKEN_C."""

    def problem(self, address: str) -> str:
        scheme = address.partition("://")[0].lower()
        if scheme not in OF_THEIR_OWN + AT_A_HOST:
            known = ", ".join((*OF_THEIR_OWN, *AT_A_HOST))
            return f"the address of a service begins with one of {known}, then ://"
        if "?" in address:
            # Among them are files of this server, and how long is waited.
            return "an address of a service has no options behind a question mark"
        if apprise.Apprise.instantiate(address, suppress_exceptions=True) is None:
            return f"this is no whole address of {scheme}"
        return ""

    def send(self, place: Place, message: Message, key: UUID) -> None:  # noqa: ARG002  others use it
        if problem := self.problem(place.address):
            raise NotSent(problem, is_permanent=True)
        parts = urlsplit(place.address)
        if parts.scheme.lower() in AT_A_HOST:
            open_address(parts.hostname or "", parts.port or 443)
        found = apprise.Apprise(asset=apprise.AppriseAsset(http_redirects=False))
        found.add(place.address)
        kind = apprise.NotifyType.SUCCESS if message.is_good else apprise.NotifyType.WARNING
        with _Reasons() as reasons:
            is_sent = found.notify(body=message.text, title=message.subject, notify_type=kind)
        if not is_sent:
            raise NotSent(reasons.newest or "the service did not take it")


class _Reasons(logging.Handler):
    """Apprise answers with yes or no, and logs why."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.newest = ""

    def __enter__(self) -> _Reasons:
        logging.getLogger("apprise").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("apprise").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.newest = " ".join(record.getMessage().split())[:200]
