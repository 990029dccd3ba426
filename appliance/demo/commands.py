"""Running short commands: an argument list in, standard output out."""

import subprocess

from appliance.demo.errors import CommandFailed

COMMAND_DEADLINE_S = 60.0


def run(
    argv: list[str],
    *,
    standard_input: str | None = None,
    environment: dict[str, str] | None = None,
    accepted: tuple[int, ...] = (0,),
    deadline_s: float = COMMAND_DEADLINE_S,
) -> str:
    """Run a command to its end and give its standard output.

    Raises CommandFailed, with what it said, when its exit status is not an accepted one.
    """
    done = subprocess.run(
        argv,
        input=standard_input,
        env=environment,
        capture_output=True,
        text=True,
        timeout=deadline_s,
        check=False,
    )
    if done.returncode not in accepted:
        said = done.stderr or done.stdout
        raise CommandFailed(argv=argv, status=done.returncode, output=said)
    return done.stdout
