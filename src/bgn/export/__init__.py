"""A model written for somewhere else: one file per format, each built from the model's terms.

To add one: a class beside :class:`bgn.export.text.Text` in a file of its own, and its line in
:data:`bgn.export.equation.FORMATS`.
"""
