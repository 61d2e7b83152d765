"""Rows in the memory of an NVIDIA GPU."""
