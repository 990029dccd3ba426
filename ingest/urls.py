"""The URLs that collectors use."""

from django.urls import path

from ingest import other_protocols, views

urlpatterns = [
    path("api/v2/write", views.write, name="ingest-write"),
    path("write", other_protocols.write_v1, name="ingest-write-v1"),
    path("query", other_protocols.query_v1, name="ingest-query-v1"),
    path("api/v1/write", other_protocols.remote_write, name="ingest-remote-write"),
    path("v1/metrics", other_protocols.otlp_metrics, name="ingest-otlp"),
    path("health", views.health, name="health"),
    path("ping", views.ping, name="ping"),
]
