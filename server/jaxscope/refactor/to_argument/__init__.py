"""A value that compiled code reads from outside becomes an argument of it."""
