"""What enrolling a host writes: the agent's configuration and its two secrets."""

from __future__ import annotations

from pathlib import Path

from tests.enforcers.policies import KEY


def write_agent_toml(folder: Path, url: str, tables: str) -> Path:
    """The configuration of host h1 for the service at this address, with these tables."""
    for name, secret in (("token", b"sluice-token-0001"), ("signing-key", KEY)):
        (folder / name).write_bytes(secret)
        (folder / name).chmod(0o600)
    file = folder / "agent.toml"
    file.write_text(
        f'[agent]\nhost = "h1"\nstate_dir = "state"\n'
        f'[server]\nurl = "{url}"\n'
        'token_file = "token"\nsigning_key_file = "signing-key"\n'
        f"{tables}"
    )
    return file
