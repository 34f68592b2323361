"""What compiled code reads from outside."""
