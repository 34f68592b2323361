"""Edits of single places, so that all else stays as it is."""
