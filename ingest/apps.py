from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Ingest: hosts, series, sample tables, rejected lines."""

    name = "ingest"
