"""Where the process starts: signals wait until the command is loaded and listens."""

from enforcers import signals


def main() -> int:
    """Run the command with the arguments of the process."""
    signals.hold_back()
    from enforcers import cli  # what is imported here takes most of the start

    return cli.main()
