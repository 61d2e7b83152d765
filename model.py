# Predicts value. Written by bgn; needs Python alone.
import math

_NAN = float("nan")
COLUMNS = ('income', 'city')
_CATEGORIES_1 = {'Lille': 0, 'Nice': 1, 'Rome': 2}
_REASONS = (
    ('income >= 65.5', (0.9750000000000001,), (-0.325,)),
    ('city is not Rome or city is missing', (0.125,), (-0.375,)),
    ('income >= 36, or income >= 30 and (city is not Nice or city is missing)', (0.05,), (-0.15000000000000002,)),
)

def _number(row, name):
    value = row.get(name)
    value = _NAN if value is None else float(value)
    if value in (math.inf, -math.inf):
        raise ValueError(f"{name!r} is infinite")
    return value


def _place(categories, value, none):
    if value is None or value != value:
        return none
    if not isinstance(value, str):
        value = value if isinstance(value, bool) else float(value) + 0.0
    word = value if isinstance(value, str) else repr(value).removesuffix(".0")
    return categories.get(value, categories.get(word, none))


_table_0 = (True, True, False, True,)
_table_1 = (0.0, -6.0, 0.0, 0.0,)


def _run(row):
    x0 = _number(row, 'income')
    x1 = _place(_CATEGORIES_1, row.get('city'), 3)
    t0 = 200.0
    h0_0 = (1.0 if x0 >= 65.5 else -1.0)
    h0_1 = (1.0 if _table_0[x1] else -1.0)
    h0_2 = (1.0 if (x0 if x0 == x0 else 38.5) + _table_1[x1] >= 30.0 else -1.0)
    t0 += 65.0 * h0_0
    t0 += 25.0 * h0_1
    t0 += 10.0 * h0_2
    return t0 / 100.0, (h0_0, h0_1, h0_2,)


def score(row):
    """Return the raw score."""
    return _run(row)[0]


def predict(row):
    """Return the prediction."""
    return score(row)


def reasons(row, count=3):
    """Return the questions that move the score most, that of the likeliest class: (question, answer, amount)."""
    totals, answers = _run(row)
    output = 0
    found = [
        (words, answer > 0.0, (yes if answer > 0.0 else no)[output])
        for (words, yes, no), answer in zip(_REASONS, answers)
    ]
    return sorted(found, key=lambda each: -abs(each[2]))[:count]
