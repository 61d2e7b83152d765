"""Compiled loops over rows, and over the cells of a cut."""
