"""Forms that change who may do what: each refusal of the services in its own way."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.errors import AccountsError, NotAllowed, NotFound
from advisor.errors import DecisionRefused, InventoryError
from web.access import Workspace, workspace_view

View = Callable[..., HttpResponseBase]


def changing(page: str, *, of_row: bool = False) -> Callable[[View], View]:
    """A form of this page; what is refused for other reasons than the role is told there.

    With `of_row` the page is that of the row that the address names.
    """

    def decorate(view: View) -> View:
        @require_POST
        @workspace_view
        @wraps(view)
        def changed(
            request: HttpRequest, workspace: Workspace, **arguments: Any
        ) -> HttpResponseBase:
            try:
                return view(request, workspace, **arguments)
            except NotAllowed as error:
                raise PermissionDenied(f"{error}.") from error
            except NotFound as error:
                raise Http404 from error
            except (AccountsError, DecisionRefused, InventoryError) as error:
                messages.error(request, f"{error}.")
                return redirect(page, **arguments) if of_row else redirect(page)

        return changed

    return decorate
