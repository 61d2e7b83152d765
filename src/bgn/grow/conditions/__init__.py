"""Growth within a budget of conditions: one search for every kind of term, one way to choose."""
