"""The WSGI application: Django behind the layers for chunked bodies and for writes."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import reverse

from ingest.chunked_body import ChunkedBody

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

django_application = get_wsgi_application()

# Models can be imported only now.
from ingest.write_app import Writes  # noqa: E402

application = ChunkedBody(
    Writes(django_application),
    max_body_bytes=settings.MAX_BODY_BYTES,
    paths_with_own_limit={reverse("upload-files")},
)
