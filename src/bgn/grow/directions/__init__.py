"""Where to look: from a residual to sparse directions worth cutting.

A strategy is a small class that fulfils :class:`~bgn.grow.directions.protocol.DirectionFinder`, in a module of its own;
:mod:`bgn.grow.network` chooses among them by name.
"""
