"""The URLs that Telegraf uses."""

from django.urls import path

from ingest import views

urlpatterns = [
    path("api/v2/write", views.write, name="ingest-write"),
    path("health", views.health, name="health"),
    path("ping", views.ping, name="ping"),
]
