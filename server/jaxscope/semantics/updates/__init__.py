"""Results that replace arguments."""
