"""Has nothing to do with arrays."""

TABLE = [n * n for n in range(1000)]
