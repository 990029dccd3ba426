"""The addresses of pages, and of the programs' interface."""

from __future__ import annotations

from django.urls import URLPattern, path

from web.views import hosts, overview, search, session

urlpatterns: list[URLPattern] = [
    path("", overview.overview, name="overview"),
    path("login/", session.SignInView.as_view(), name="login"),
    path("logout/", session.SignOutView.as_view(), name="logout"),
    path("organisation/", session.choose_organisation, name="choose-organisation"),
    path("search/", search.find, name="search"),
    path("hosts/", hosts.hosts, name="hosts"),
    path("hosts/<int:pk>/", hosts.host, name="host"),
]
