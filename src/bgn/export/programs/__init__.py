"""Programs that predict as a network does, one file per language, all written from :mod:`bgn.export.plan`."""
