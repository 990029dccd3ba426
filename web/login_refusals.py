"""Why a login at the provider came to nothing, in words for the person before the screen."""

from __future__ import annotations

from enum import StrEnum

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from web.company import company


class Refusal(StrEnum):
    NO_ANSWER = "no answer"
    NOT_BELIEVED = "not believed"
    OVER = "over"
    CANCELLED = "cancelled"
    PROVIDER_REFUSED = "provider refused"
    AT_THE_PROVIDER = "at the provider"
    NO_GROUPS = "no groups"
    OPENS_NOTHING = "opens nothing"
    MAIL_TAKEN = "mail taken"


PAGES = {
    Refusal.NO_ANSWER: (
        503,
        "{name} does not answer",
        "Sluice asked it about you and got no answer in time. Try again in a minute.",
    ),
    Refusal.NOT_BELIEVED: (
        502,
        "What {name} says does not hold",
        (
            "Its answer is not what an answer to this login must be, so it opens nothing. "
            "Try once more. If it stays so, tell who runs Sluice: the reason is in the log of the "
            "web server."
        ),
    ),
    Refusal.OVER: (
        403,
        "This login is over",
        (
            "Each login at {name} counts once, in the browser where it began, and for ten "
            "minutes. Begin again."
        ),
    ),
    Refusal.CANCELLED: (403, "You were not logged in", "{name} says that you said no."),
    Refusal.PROVIDER_REFUSED: (
        403,
        "{name} does not let you in",
        "It gave no reason that Sluice knows. Ask who runs it.",
    ),
    Refusal.AT_THE_PROVIDER: (
        403,
        "You log in at {name}",
        "Your role here comes from your groups there; a password or passkey of here does not do.",
    ),
    Refusal.NO_GROUPS: (
        403,
        "{name} does not say in which groups you are",
        "What you may do here hangs on them, so you are not logged in. Tell who runs {name}.",
    ),
    Refusal.OPENS_NOTHING: (
        403,
        "{name} knows you, and nothing here is open to you",
        (
            "None of your groups has a role here. Ask an admin of the organisation for an "
            "invitation, or who runs Sluice to give one of your groups a role."
        ),
    ),
    Refusal.MAIL_TAKEN: (
        403,
        "Somebody here has your mail address",
        "If that is you, log in with your password, then connect {name} on your profile.",
    ),
}
"""The status, title and text of each; `{name}` is the provider."""


def refusal_page(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    status, title, text = PAGES[refusal]
    name = company().name
    context = {"title": title.format(name=name), "text": text.format(name=name)}
    return render(request, "web/login_refused.html", context, status=status)
