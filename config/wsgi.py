"""The WSGI application: Django behind the layer for chunked bodies."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import reverse

from ingest.chunked_body import ChunkedBody

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = ChunkedBody(
    get_wsgi_application(),
    max_body_bytes=settings.MAX_BODY_BYTES,
    paths_with_own_limit={reverse("upload-files")},
)
