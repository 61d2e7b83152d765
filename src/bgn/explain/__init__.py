"""Explanations that are exact, or say that they are not."""
