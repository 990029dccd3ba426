"""Going through the tour of a sample organisation."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from accounts.services.tour import close_tour, go_to_step
from web.access import SESSION_KEY, Workspace, workspace_view
from web.tour import STEPS, Tour, step_address, tour_of


@require_safe
@workspace_view
def page_of_step(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The page of the step where the person is."""
    workspace, tour = _sample(request, workspace)
    return redirect(step_address(workspace, tour.number, now=timezone.now()))


@require_POST
@workspace_view
def go(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """To the step that the form names; without one, to that where the person was."""
    workspace, tour = _sample(request, workspace)
    asked = request.POST.get("step", str(tour.number))
    if asked not in {str(number) for number, _ in enumerate(STEPS, start=1)}:
        raise Http404(f'there is no step "{asked[:20]}"')
    go_to_step(workspace.membership, int(asked))
    return redirect(step_address(workspace, int(asked), now=timezone.now()))


@require_POST
@workspace_view
def close(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Stay on the page, without the step."""
    workspace, _ = _sample(request, workspace)
    close_tour(workspace.membership)
    back = request.POST.get("back", "")
    is_own = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return redirect(back if is_own and back.startswith("/") else "overview")


def _sample(request: HttpRequest, workspace: Workspace) -> tuple[Workspace, Tour]:
    """The sample among the person's organisations, which is looked at from now on.

    Its rows have pages whichever organisation was looked at last. Raises Http404 without one.
    """
    own = sorted(workspace.memberships, key=lambda one: one != workspace.membership)
    for membership in own:
        found = workspace.at(membership.organisation_id)
        tour = tour_of(found)
        if tour is not None:
            request.session[SESSION_KEY] = membership.organisation_id
            return found, tour
    raise Http404("only a sample has a tour")
