"""64-bit data."""
