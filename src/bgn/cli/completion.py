"""``bgn completion``: what makes a shell complete commands, options, files and built-in tables."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from bgn.cli.terminal import show_json

_HOW = {
    "bash": 'eval "$(bgn completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(bgn completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "bgn completion fish > ~/.config/fish/completions/bgn.fish",
}


class TableName(click.ParamType):
    """The name of a data file or of a built-in table."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from bgn import datasets

        built_in = [CompletionItem(name) for name in datasets.names() if incomplete and name.startswith(incomplete)]
        return built_in or [CompletionItem(incomplete, type="file")]


@click.command(epilog="\b\n" + "\n".join(_HOW.values()))
@click.argument("shell", type=click.Choice(list(_HOW)))
@click.option("--json", "as_json", is_flag=True, help="For machines.")
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print what makes a SHELL complete the commands and options of bgn, files and built-in tables."""
    made: Any = get_completion_class(shell)
    script = made(ctx.find_root().command, {}, "bgn", "_BGN_COMPLETE").source()
    if as_json:
        show_json({"shell": shell, "use": _HOW[shell].partition("   #")[0], "script": script})
    else:
        click.echo(script)
