"""The certificate authorities that the agent trusts."""

import re
import ssl
from pathlib import Path

_BEGIN = b"-----BEGIN CERTIFICATE-----"
_BY_HASH = re.compile(r"[0-9a-f]{8}\.\d+")
"""What OpenSSL looks for in a folder (SSL_CTX_load_verify_locations(3))."""


def trusting_context(ca_file: Path | None) -> ssl.SSLContext:
    """For connections to servers that an authority of the system, or one of the file, vouches for.

    Raises OSError if the file is of no use.
    """
    context = ssl.create_default_context(capath=_whole_folder())
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def _whole_folder() -> str | None:
    """The system's folder of authorities, if it has all that are in the system's file.

    Of a folder OpenSSL reads the one that it needs, but it keeps a whole file in memory: 1.2 MB.
    """
    paths = ssl.get_default_verify_paths()
    if paths.capath is None or paths.cafile is None:
        return paths.capath
    try:
        in_file = Path(paths.cafile).read_bytes().count(_BEGIN)
        named = Path(paths.capath).iterdir()
        in_folder = sum(bool(_BY_HASH.fullmatch(file.name)) for file in named)
    except OSError:
        return None
    return paths.capath if in_folder >= in_file else None
