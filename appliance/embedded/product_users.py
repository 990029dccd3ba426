"""Which users the product's own processes run as where root starts them.

Root keeps the supervisor, the private database's log and backups, and the reader of this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from appliance.embedded.service_user import ServiceUser, process_identity, user_of_name
from config.paths import DataDir, DataDirError

PRODUCT_USER, SIGNER_USER = "sluice", "sluice-signer"
ROOT = "root"
READ_BY_THE_PRODUCT = ("SLUICE_", "DATABASE_URL", "REDIS_URL")
READ_BY_OTHERS = {"SLUICE_SIGNING_KEYS_FILE", "SLUICE_VCENTER_PASSWORD_FILE"}
"""The signer reads its file as root; the other one is for commands."""
TLS_FILES = ("SLUICE_TLS_CERTIFICATE", "SLUICE_TLS_KEY")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductUsers:
    """Whom web, workers and scheduler become, and whom the signer; None: they stay who we are.

    `said` is what whoever starts them should know of it.
    """

    product: ServiceUser | None = None
    signer: ServiceUser | None = None
    said: str = ""


NO_OTHER_USERS = ProductUsers()


def product_users(environ: Mapping[str, str] = os.environ) -> ProductUsers:
    """Those of the settings, else those of the package, as far as they are there.

    Raises DataDirError where a setting names a user that cannot be used.
    """
    if os.geteuid() != 0:
        return NO_OTHER_USERS
    product, why = _found(environ.get("SLUICE_USER"), "SLUICE_USER", PRODUCT_USER)
    if product is None:
        return ProductUsers(
            said=f"users: web server, workers, scheduler and signer run as root: {why}"
        )
    _check_files(product, environ)
    signer, why = _found(environ.get("SLUICE_SIGNER_USER"), "SLUICE_SIGNER_USER", SIGNER_USER)
    if signer is None:
        return ProductUsers(
            product=product,
            signer=product,
            said=f"users: the signer runs as {product.name}, as the web server does: {why}",
        )
    return ProductUsers(product=product, signer=signer)


def open_sockets(folder: Path, users: ProductUsers) -> None:
    """Let the product's group through to the sockets of the private servers, and nobody else."""
    if users.product is None:
        folder.chmod(0o700)
        return
    os.chown(folder, -1, users.product.gid)
    folder.chmod(0o750)


def open_to_product(data: DataDir, users: ProductUsers) -> None:
    """Let the product's group read the keys that web and workers need, and write none.

    The signer's secret stays root's alone. Whatever root wrote before is found so, too.
    """
    if users.product is None:
        return
    settings.ENCRYPTION_KEYS()
    for path in (data.secret_key, data.encryption_keys):
        # Where the environment has a key there is no file.
        if path.exists():
            os.chown(path, 0, users.product.gid)
            path.chmod(0o640)


def _found(said: str | None, variable: str, usual: str) -> tuple[ServiceUser | None, str]:
    """The user, or why there is none; a setting that cannot be followed is an error."""
    name = said or usual
    if name == ROOT:
        return None, f"{variable} says so"
    user = user_of_name(name)
    if user is None:
        why = f"there is no user {name}; the package makes it, and so does: "
        why += f"useradd --system --shell /usr/sbin/nologin {name} ({variable} names another)"
    elif user.uid == 0:
        why = f"{name} is root by another name"
    elif not _reaches_programs(user):
        why = f"user {name} cannot reach {sys.prefix}; put it where every user may read"
    else:
        return user, ""
    if said:
        raise DataDirError(f"{variable}={name}: {why}")
    return None, why


def _reaches_programs(user: ServiceUser) -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import django, appliance"],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            **process_identity(user),
        )
    except OSError:
        return False
    return done.returncode == 0


def _check_files(user: ServiceUser, environ: Mapping[str, str]) -> None:
    """Raises DataDirError for a file of a setting that the product could not read."""
    for name, path in sorted(environ.items()):
        is_secret = name.endswith("_FILE") and name.startswith(READ_BY_THE_PRODUCT)
        if not path or name in READ_BY_OTHERS or not (is_secret or name in TLS_FILES):
            continue
        done = subprocess.run(["test", "-r", path], check=False, **process_identity(user))
        if done.returncode != 0:
            raise DataDirError(
                f"{name}: user {user.name} cannot read {path}; let its group: "
                f"chgrp {user.name} {path}; chmod 640 {path}"
            )
