from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Samples in: tenants, hosts, tokens, series, sample tables."""

    name = "ingest"
