"""Where the rows live."""
