"""Theorem 1 along depth: what each layer of a grown network could still reach, and what growth made of it."""

REVISION = 1


def tasks(options):
    return []


def run(task):
    raise NotImplementedError


def show(runs):
    return []
