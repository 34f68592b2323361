"""What the source says of names, functions and where they are compiled, over all files."""
