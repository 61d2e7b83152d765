"""Rows in the memory of this process."""
