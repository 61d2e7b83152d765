# Predicts value. Written by bgn; needs Python alone.
import math

_NAN = float("nan")
COLUMNS = ('income', 'city')
_CATEGORIES_1 = {'Lille': 'Lille', 'Nice': 'Nice', 'Rome': 'Rome'}
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


def _category(categories, value):
    if value is None or value != value:
        return None
    if not isinstance(value, str):
        value = value if isinstance(value, bool) else float(value) + 0.0
    text = value if isinstance(value, str) else repr(value).removesuffix(".0")
    return categories.get(value, categories.get(text))


_table_0 = {'Lille': 0.0, 'Nice': -6.0, 'Rome': 0.0}


def _run(row):
    income = _number(row, 'income')
    city = _category(_CATEGORIES_1, row.get('city'))
    t0 = 100.0
    r0 = income >= 65.5
    r1 = city != 'Rome'
    r2 = (38.5 if income != income else income) + _table_0.get(city, 0.0) >= 30.0
    t0 += 130.0 * r0
    t0 += 50.0 * r1
    t0 += 20.0 * r2
    return t0 / 100.0, (r0, r1, r2,)


def score(row):
    """Return the raw score."""
    return _run(row)[0]


def predict(row):
    """Return the prediction."""
    return score(row)


def reasons(row, count=3):
    """Return the rules that move the score most, that of the likeliest class: (rule, whether it holds, SHAP value)."""
    totals, holding = _run(row)
    output = 0
    values = [(rule, holds, (yes if holds else no)[output]) for (rule, yes, no), holds in zip(_REASONS, holding)]
    return sorted(values, key=lambda value: -abs(value[2]))[:count]
