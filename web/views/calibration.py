"""Did predictions come true?"""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.core.forecast.calibration import ENOUGH_RATES
from advisor.queries.calibration import (
    accuracy_by_origin,
    accuracy_picture,
    calibration_of,
    natural_lines,
    newest_scores,
)
from web.access import Workspace, workspace_view
from web.drawing.picture import drawing_of
from web.page import render_page

PER_PAGE = 25
MOST_NATURAL = 25


@require_safe
@workspace_view
def calibration(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    organisation = workspace.membership.organisation
    picture = accuracy_picture(organisation)
    scores = Paginator(newest_scores(organisation), PER_PAGE)
    return render_page(
        request,
        workspace,
        "web/calibration.html",
        now=timezone.now(),
        section="calibration",
        calibration=calibration_of(organisation),
        accuracy=accuracy_by_origin(organisation),
        drawing=drawing_of(picture) if picture else None,
        page=scores.get_page(request.GET.get("page")),
        natural=natural_lines(organisation, most=MOST_NATURAL),
        enough=ENOUGH_RATES,
    )
