"""Output formats, one a file: a report to text."""
