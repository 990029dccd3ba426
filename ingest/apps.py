from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Samples in: hosts, series, sample tables, refused lines."""

    name = "ingest"
