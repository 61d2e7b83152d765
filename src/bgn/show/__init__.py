"""What figures and reports share before any ink: labels, the drawing of a network, the corners of an effect."""
