"""The addresses of pages, and of the programs' interface."""

from __future__ import annotations

from functools import partial

from allauth.account.views import login, logout
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from web.api import charts, enforcer
from web.api import health as probes
from web.views import (
    health,
    hosts,
    imports,
    incident_cause,
    incidents,
    invitation,
    members,
    overview,
    recommendation_steps,
    recommendations,
    replay,
    resource,
    search,
    session,
    sessions,
    tables,
    what_if,
    workload,
)

moved = partial(RedirectView.as_view, permanent=True, query_string=True)

urlpatterns: list[URLPattern | URLResolver] = [
    path("", overview.overview, name="overview"),
    path("login/", login, name="login"),
    path("logout/", logout, name="logout"),
    path("", include("allauth.account.urls")),
    path("second-factor/", include("allauth.mfa.urls")),
    path("sessions/", include("allauth.usersessions.urls")),
    path("sessions/<int:pk>/end/", sessions.end_session, name="end-session"),
    path("invitations/<str:secret>/", invitation.invitation, name="invitation"),
    path("settings/members/", members.members, name="members"),
    path("settings/members/invite/", members.invite_somebody, name="invite"),
    path("settings/members/<int:pk>/role/", members.give_role, name="give-role"),
    path("settings/members/<int:pk>/remove/", members.remove, name="remove-member"),
    path(
        "settings/invitations/<int:pk>/withdraw/",
        members.withdraw_invitation,
        name="withdraw-invitation",
    ),
    path("organisation/", session.choose_organisation, name="choose-organisation"),
    path("search/", search.find, name="search"),
    path("resources/<int:pk>/", resource.resource, name="resource"),
    path("resources/<int:pk>/rollback/", resource.roll_back, name="roll-back"),
    path("resources/<int:pk>/what-if/", what_if.page, name="what-if"),
    path("resources/<int:pk>/what-if/draft/", what_if.save, name="what-if-draft"),
    path("recommendations/", recommendations.recommendations, name="recommendations"),
    path("recommendations/<int:pk>/", recommendations.recommendation, name="recommendation"),
    path("recommendations/<int:pk>/approve/", recommendations.approve_one, name="approve"),
    path("recommendations/<int:pk>/reject/", recommendations.reject_one, name="reject"),
    path(
        "recommendations/<int:pk>/acknowledge/",
        recommendation_steps.acknowledge_one,
        name="acknowledge",
    ),
    path("recommendations/<int:pk>/snooze/", recommendation_steps.snooze_one, name="snooze"),
    path("incidents/", incidents.incidents, name="incidents"),
    path("incidents/<int:pk>/", incidents.incident, name="incident"),
    path("incidents/<int:pk>/cause/", incident_cause.cause, name="incident-cause"),
    path("incidents/<int:pk>/mute/", incident_cause.mute, name="mute-incident"),
    # Links in mails and bookmarks of the release before lead on; so do former names of replays.
    path("episodes/", moved(pattern_name="incidents")),
    path("episodes/<int:pk>/", moved(pattern_name="incident")),
    path("replay/", replay.replays, name="replays"),
    path("replay/<str:name>/", replay.replay, name="replay"),
    path("replay/<str:name>/timeline.json", replay.timeline, name="replay-timeline"),
    path("workloads/", tables.workloads, name="workloads"),
    path("storage/", tables.storage, name="storage"),
    path("networks/", tables.networks, name="networks"),
    path("workloads/<int:pk>/", workload.workload, name="workload"),
    path("hosts/", hosts.hosts, name="hosts"),
    path("hosts/<int:pk>/", hosts.host, name="host"),
    path("imports/", imports.imports, name="imports"),
    path("imports/upload/", imports.upload_files, name="upload-files"),
    path("imports/<int:pk>/", imports.one_import, name="import"),
    path("imports/<int:pk>/answer/", imports.answer_files, name="answer-files"),
    path("health-of-sluice/", health.health, name="health-of-sluice"),
    path("health/live", probes.live, name="health-live"),
    path("health/ready", probes.ready, name="health-ready"),
    path("health/evaluation", probes.evaluation, name="health-evaluation"),
    path("metrics", probes.metrics, name="metrics"),
    path("api/v1/resources/<int:pk>/charts", charts.resource_charts, name="resource-charts"),
    path(
        "api/v1/resources/<int:pk>/charts/<slug:key>.csv",
        charts.resource_csv,
        name="resource-chart-csv",
    ),
    path("api/v1/hosts/<int:pk>/charts", charts.host_charts, name="host-charts"),
    path("api/v1/hosts/<int:pk>/charts/<slug:key>.csv", charts.host_csv, name="host-chart-csv"),
    path("api/v1/workloads/<int:pk>/charts", charts.workload_charts, name="workload-charts"),
    path(
        "api/v1/workloads/<int:pk>/charts/<slug:key>.csv",
        charts.workload_csv,
        name="workload-chart-csv",
    ),
    path("api/v1/enforcer/document", enforcer.document, name="enforcer-document"),
    path("api/v1/enforcer/report", enforcer.report, name="enforcer-report"),
    path("api/v1/enforcer/exchange", enforcer.exchange, name="enforcer-exchange"),
    path("api/v1/enforcer/limits", enforcer.limits, name="enforcer-limits"),
]
