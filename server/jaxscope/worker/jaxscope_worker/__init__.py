"""Runs in the user's interpreter: the standard library and the user's own packages, nothing else."""
