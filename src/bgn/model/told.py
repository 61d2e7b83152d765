"""Which of two classes people are told of: the one that says yes, in the languages that tables are written in."""
# ruff: noqa: RUF001  (letters of other alphabets that look like ours)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bgn.model.members import Members
from bgn.model.network import Network


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_YES = _words(
    "yes y true t on ja j oui o vrai si sí sì s vero sim da tak ano áno a jo igen kyllä kylla k evet hai はい ya có "
    "ναι да д так 是 有 예 네 نعم כן हाँ jah taip jā positive positiv positif positivo present success"
)
_NO = _words(
    "no n false f off nein nee nej nei non faux falso não nao ne nie nem ei e hayır hayir h iie いいえ tidak không όχι "
    "нет н ні 否 无 아니요 아니오 لا לא नहीं nu negative negativ négatif negatif negativo absent failure"
)
_NOT = _words(
    "no not non never without kein keine keinen nicht nie ohne pas sans jamais sin senza niet geen zonder não nao sem "
    "inte utan ikke uten ingen bez нет не без"
)
_WITH = _words("with mit avec con com met med")


def affirmed(labels: Sequence[Any]) -> int | None:
    """Return which of two labels says yes where the other says no; None where they do not.

    Either both are such words, or one is the other with a word that denies it.

    Examples
    --------
    >>> affirmed(["ja", "nein"]), affirmed(["Default", "no default"]), affirmed(["cat", "dog"]), affirmed([0, 1])
    (0, 0, None, None)
    """
    if len(labels) != 2 or not all(isinstance(each, str) for each in labels):
        return None
    words = [each.casefold().replace("_", " ").replace("-", " ").split() for each in labels]
    for yes, no in ((0, 1), (1, 0)):
        if len(words[yes]) == len(words[no]) == 1 and words[yes][0] in _YES and words[no][0] in _NO:
            return yes
        denied = [each for each in words[no] if each not in _NOT]
        if len(denied) < len(words[no]) and denied and denied == [each for each in words[yes] if each not in _WITH]:
            return yes
    return None


def swapped(network: Network) -> Network:
    """Return a network of two classes with the first as its second: it predicts the same.

    Rows of which both are equally probable are an exception: of them the first is predicted.
    """
    schema = replace(network.schema, classes=(network.schema.classes or (0, 1))[::-1])
    slopes, members = None if network.slopes is None else -network.slopes, network.members
    if members is not None:
        own = None if members.slopes is None else -members.slopes
        members = Members(-members.weights, -members.bases, own, members.ranges)
    return network.changed(
        output_weights=-network.output_weights, base=-network.base, slopes=slopes, schema=schema, members=members
    )


def is_turned(network: Network) -> bool:
    """Return whether the first of two classes says yes and the second no, as "ja" and "nein" do."""
    classes = network.schema.classes
    return network.link == "logistic" and classes is not None and affirmed(classes) == 0


def as_told(network: Network) -> Network:
    """Return a network as people are told of it: of two classes that say yes and no, yes is the second.

    Classes stand in the order of their letters, as scikit-learn has them, which puts "yes" second but "ja" first.
    """
    return swapped(network) if is_turned(network) else network
