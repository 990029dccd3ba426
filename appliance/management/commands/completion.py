"""sluice completion: the completion script of a shell."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import get_commands, load_command_class

from accounts.management.plain_command import PlainCommand
from appliance.cli import COMMANDS
from appliance.completion import Shell, script, words_of


class Command(PlainCommand):
    """Prints a script that completes the product's commands and options."""

    help = 'Print the completion script of a shell; load it with eval "$(sluice completion bash)".'

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", choices=[shell.value for shell in Shell])

    def handle(self, *_: Any, **options: Any) -> None:
        about = {name: line for group in COMMANDS.values() for name, line in group.items()}
        homes = get_commands()
        parsers = {
            name: load_command_class(homes[name], name).create_parser("sluice", name)
            for name in about
        }
        self.stdout.write(script(Shell(options["shell"]), words_of(parsers, about)))
