"""Rows in files, a block at a time."""
