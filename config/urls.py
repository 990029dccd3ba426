"""The addresses of the product: the wire first, then the pages."""

from django.urls import include, path

urlpatterns = [
    path("", include("ingest.urls")),
    path("", include("web.urls")),
]
