"""What is compiled, by which transform, and who calls it."""
