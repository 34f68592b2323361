"""Functions that are traced again and again."""
