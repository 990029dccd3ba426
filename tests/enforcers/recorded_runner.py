"""A runner that starts nothing: it keeps the commands and gives recorded answers."""

from collections.abc import Callable, Mapping, Sequence

from enforcers.errors import CommandError


class RecordedRunner:
    """`answers` gives the output, or the error, of a command that begins with its key."""

    def __init__(
        self,
        answers: Mapping[str, str | CommandError] | None = None,
        *,
        on_run: Callable[[], None] = lambda: None,
    ) -> None:
        self.answers = answers or {}
        self.commands: list[str] = []
        self.inputs: list[str] = []
        self._on_run = on_run

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        command = " ".join(argv)
        self.commands.append(command)
        self.inputs.append(stdin)
        self._on_run()
        answer = next((a for key, a in self.answers.items() if command.startswith(key)), "")
        if isinstance(answer, CommandError):
            raise answer
        return answer
