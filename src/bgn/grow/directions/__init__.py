"""Where to look: from a residual to sparse directions worth cutting.

A strategy is a small class in a module of its own, with `learn`, `strength` and `propose` as
:class:`~bgn.grow.directions.lasso.Lasso` has them; :mod:`bgn.grow.search` chooses among them by name.
"""
