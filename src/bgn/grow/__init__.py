"""The BGN algorithm: direction, cut, output, replacement, layer, network."""
