"""Pages for what went wrong: each says what happened and the one step that helps."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.log_context import request_id
from web.api.v1.problem import API_PATH, problem_answer


def _error_page(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    context = {"status": status, "title": title, "text": text, "number": request_id()}
    return render(request, "web/error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django names it
    return _error_page(
        request, 400, "The request could not be read", "Go back and try it once more."
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) or "Your role does not allow this."
    text = f"{reason} Nothing was changed. An admin of the organisation can change your role."
    return _error_page(request, 403, "You may look, but not decide here", text)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django names it
    if request.path.startswith(API_PATH):
        return problem_answer(404, "not_found", f"there is nothing at {request.path}")
    return _error_page(
        request,
        404,
        "There is nothing here that you can see",
        "The address may be mistyped, what it named may be gone, or it belongs to an organisation "
        "that you are not a member of.",
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  Django names it
    """Called by Django when a form came without its secret; nothing was changed."""
    return _error_page(
        request,
        403,
        "The form was too old",
        "You may have signed in again in the meantime. Nothing was changed. Go back, reload the "
        "page and send the form again.",
    )


def server_error(request: HttpRequest) -> HttpResponse:  # noqa: ARG001  Django names it
    """Needs neither the database nor the session, which may be what failed."""
    number = request_id()
    told = (
        f"<p>If you tell somebody, tell this number: <code>{number}</code></p>" if number else ""
    )
    return HttpResponse(_PLAIN_ERROR.replace("<!--number-->", told), status=500)


_PLAIN_ERROR = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Something failed · Sluice</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/static/favicon.svg" type="image/svg+xml">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/static/sluice.css">
<link rel="stylesheet" href="/static/dark.css" media="(prefers-color-scheme: dark)"></head>
<body><main class="plain-page"><h1>Something failed on our side</h1>
<p>The page could not be made. Collection and enforcement go on without it. The reason is in the
log of the web process; try again in a minute.</p>
<!--number-->
<p><a class="button" href="/">To the overview</a></p></main></body></html>
"""
