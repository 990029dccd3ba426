"""Backups in a bucket of an S3 server, by obstore.

Every object is sent in one request, which the server takes whole or not at all: an upload that
is cut off leaves nothing there. obstore itself tries again what fails for a while.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store as Bucket

from appliance.backup.errors import Refused, TargetAway
from config import env

if TYPE_CHECKING:
    # Its stubs alone know it.
    from obstore.store import S3Config

MOST_TRIES = 6
LONGEST_TRYING = timedelta(seconds=90)
ANSWER_WITHIN = timedelta(seconds=60)
LONGEST_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Target:
    """A folder of a bucket; the folder may be empty."""

    bucket: str
    folder: str

    @staticmethod
    def read(text: str) -> S3Target:
        """BUCKET/FOLDER; raises Refused if the bucket has no name that S3 allows."""
        bucket, _, folder = text.partition("/")
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", bucket):
            raise Refused(f"the target s3://{text} does not begin with the name of a bucket")
        return S3Target(bucket=bucket, folder=folder.strip("/"))


def open_s3(target: S3Target, *, environ: Mapping[str, str] = os.environ) -> S3Store:
    """The store, with the address and credentials of AWS's usual variables.

    Raises Refused if there are none.
    """
    key = env.secret("AWS_ACCESS_KEY_ID", environ=environ)
    secret = env.secret("AWS_SECRET_ACCESS_KEY", environ=environ)
    if not key or not secret:
        raise Refused(
            "the target is an S3 server; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
            "(or ..._FILE), and AWS_ENDPOINT_URL if it is not Amazon's"
        )
    endpoint = env.text("AWS_ENDPOINT_URL", "", environ=environ)
    token = env.secret("AWS_SESSION_TOKEN", environ=environ)
    config: S3Config = {
        "access_key_id": key,
        "secret_access_key": secret,
        "region": env.text("AWS_REGION", "us-east-1", environ=environ),
        "virtual_hosted_style_request": False,
    }
    if endpoint:
        config["endpoint"] = endpoint
    if token:
        config["session_token"] = token
    bucket = Bucket(
        target.bucket,
        prefix=target.folder or None,
        config=config,
        client_options={"allow_http": endpoint.startswith("http://"), "timeout": ANSWER_WITHIN},
        retry_config={"max_retries": MOST_TRIES, "retry_timeout": LONGEST_TRYING},
    )
    return S3Store(
        target=f"s3://{target.bucket}/{target.folder}".rstrip("/"),
        bucket=bucket,
        secrets=tuple(one for one in (key, secret, token) if one),
    )


class S3Store:
    """Objects of a bucket."""

    def __init__(self, *, target: str, bucket: Bucket, secrets: tuple[str, ...]) -> None:
        self.target = target
        self._bucket = bucket
        self._secrets = secrets

    def put(self, name: str, content: bytes) -> None:
        """Send an object in one request."""
        with self._named():
            obstore.put(self._bucket, name, content, use_multipart=False)

    def get(self, name: str) -> bytes | None:
        """The content of an object."""
        with self._named():
            try:
                return bytes(obstore.get(self._bucket, name).bytes())
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> list[str]:
        """Every object below a folder."""
        with self._named():
            found = obstore.list(self._bucket, prefix=folder)
            return sorted(one["path"] for batch in found for one in batch)

    def delete(self, name: str) -> None:
        """Take an object away."""
        with self._named():
            try:
                obstore.delete(self._bucket, name)
            except FileNotFoundError:
                return

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            # The library's own text has what the server answered, over several lines.
            raise TargetAway(f"the target {self.target} fails: {self._reason(error)}") from None

    def _reason(self, error: Exception) -> str:
        """What went wrong, in a line without secrets."""
        text = " ".join(str(error).split("Debug source", maxsplit=1)[0].split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text[:LONGEST_REASON]
