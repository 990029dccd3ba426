"""Shell completion scripts, generated from the parsers of the commands."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

# Every management command has these; listing them would hide the command's own options.
DJANGO_OPTIONS = frozenset(
    {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }
)


class Shell(StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word that may follow, with its explanation."""

    text: str
    about: str


Words = Mapping[str, list[Word]]
"""What may follow each command path, such as `run` or `resource add`; `` is the beginning."""


def words_of(parsers: Mapping[str, argparse.ArgumentParser], about: Mapping[str, str]) -> Words:
    """Every path of commands and sub-commands, with the words that may follow it."""
    result: dict[str, list[Word]] = {
        "": [Word(text=name, about=about[name]) for name in sorted(parsers)]
    }
    for name, parser in sorted(parsers.items()):
        result.update(_paths(name, parser))
    return result


def script(shell: Shell, words: Words) -> str:
    """The script to be evaluated by the shell."""
    match shell:
        case Shell.BASH:
            return _bash(words)
        case Shell.ZSH:
            return _zsh(words)
        case Shell.FISH:
            return _fish(words)
        case _:
            assert_never(shell)


def _paths(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[Word]]]:
    words: list[Word] = []
    for action in parser._actions:  # noqa: SLF001  argparse has no public list of them
        words += _words_of_action(action)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  the same
            for name, below in sorted(action.choices.items()):
                yield from _paths(f"{path} {name}", below)
    yield path, words


def _words_of_action(action: argparse.Action) -> Iterator[Word]:
    hidden = action.help is None or action.help == argparse.SUPPRESS
    about = "" if hidden else str(action.help) % vars(action)
    long_names = [name for name in action.option_strings if name.startswith("--")]
    if action.option_strings:
        for name in long_names:
            if name not in DJANGO_OPTIONS:
                yield Word(text=name, about=about)
        return
    for choice in action.choices or ():
        yield Word(text=str(choice), about=about)


def _bash(words: Words) -> str:
    return _TEMPLATE_BASH.format(
        cases=_cases(words, lambda found: " ".join(_quoted(word.text) for word in found))
    )


def _zsh(words: Words) -> str:
    def described(found: list[Word]) -> str:
        texts = (f"{w.text}:{w.about}".rstrip(":").replace("\n", " ") for w in found)
        return " ".join(_quoted(text) for text in texts)

    return _TEMPLATE_ZSH.format(cases=_cases(words, described))


def _fish(words: Words) -> str:
    lines = [_TEMPLATE_FISH.format(paths=" ".join(_quoted_fish(path) for path in sorted(words)))]
    for path, found in sorted(words.items()):
        condition = f'test "$(__sluice_path)" = "{path}"'
        lines += [
            f"complete -c sluice -n {_quoted_fish(condition)} -a {_quoted_fish(word.text)}"
            f" -d {_quoted_fish(word.about)}"
            for word in found
        ]
    return "\n".join(lines) + "\n"


def _cases(words: Words, spell: Callable[[list[Word]], str]) -> str:
    """The branches of a shell's `case` over the command path."""
    return "\n".join(
        f"        {_quoted(path)}) words=({spell(found)}) ;;"
        for path, found in sorted(words.items())
    )


def _quoted(text: str) -> str:
    """In single quotes for bash and zsh."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _quoted_fish(text: str) -> str:
    """In single quotes for fish, which escapes inside them."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"'{escaped}'"


# The path is the longest run of command words typed so far that the table knows.
_TEMPLATE_BASH = """\
# Completion of sluice for bash: eval "$(sluice completion bash)"
_sluice_words() {{
    case "$1" in
{cases}
        *) return 1 ;;
    esac
}}
_sluice() {{
    local words=() path='' word longer
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        longer="${{path:+$path }}$word"
        _sluice_words "$longer" && path="$longer"
    done
    _sluice_words "$path"
    COMPREPLY=($(compgen -W "${{words[*]}}" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _sluice sluice
"""
_TEMPLATE_ZSH = """\
#compdef sluice
# Completion of sluice for zsh, after compinit: eval "$(sluice completion zsh)"
_sluice_words() {{
    case "$1" in
{cases}
        *) return 1 ;;
    esac
}}
_sluice() {{
    local -a words_typed; words_typed=("${{words[@]}}")
    local current=$CURRENT command_path='' word longer
    local -a words
    for word in "${{(@)words_typed[2,current-1]}}"; do
        longer="${{command_path:+$command_path }}$word"
        _sluice_words "$longer" && command_path="$longer"
    done
    _sluice_words "$command_path"
    local -a found; found=("${{words[@]}}")
    words=("${{words_typed[@]}}")
    _describe 'sluice' found
}}
compdef _sluice sluice
"""
_TEMPLATE_FISH = """\
# Completion of sluice for fish: sluice completion fish | source
function __sluice_path
    set -l known {paths}
    set -l path ''
    for word in (commandline -opc)[2..]
        set -l longer (string trim -- "$path $word")
        contains -- $longer $known; and set path $longer
    end
    echo $path
end
complete -c sluice -f"""
