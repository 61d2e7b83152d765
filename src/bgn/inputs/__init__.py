"""What a user hands over, checked once: arguments, tables, targets, weights, files, preparation of raw columns."""
