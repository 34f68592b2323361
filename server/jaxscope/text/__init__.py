"""Text: offsets, positions in several units, and edits. Knows nothing of Python."""
