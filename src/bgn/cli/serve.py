"""``bgn serve``: to be written."""
import click
@click.command()
def serve() -> None:
    """x"""
