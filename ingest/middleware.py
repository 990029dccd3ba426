"""Requests that must be answered before Django does."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse


class KeepSamplesOfUnknownAddress:
    """Answers a write to an address that is not ours 403, where Django would answer 400.

    Telegraf drops what is answered 400, and this is a mistake in a setting: with 403 it keeps
    everything until the setting is right.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path == reverse("ingest-write"):
            try:
                request.get_host()
            except DisallowedHost:
                address = request.META.get("HTTP_HOST", "")
                message = f'no such address here: "{address}"; add it to SLUICE_ALLOWED_HOSTS'
                return JsonResponse({"code": "forbidden", "message": message}, status=403)
        return self.get_response(request)
