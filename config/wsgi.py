"""The WSGI application: Django behind the layer that reads chunked bodies."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import reverse

from ingest.chunked_body import ChunkedBody

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

django_application = get_wsgi_application()
application = ChunkedBody(
    django_application,
    max_body_bytes=settings.MAX_BODY_BYTES,
    paths_with_own_limit={reverse("upload-files")},
)
