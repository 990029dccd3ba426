"""The network address that a request comes from."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The address of who asks, or empty where it is not known, as over a Unix socket.

    Behind a proxy it is the one that the proxy added last; what stands before, anybody can send.
    """
    said = str(request.META.get("REMOTE_ADDR", ""))
    if settings.BEHIND_PROXY:
        said = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    try:
        return str(ip_address(said))
    except ValueError:
        return ""
