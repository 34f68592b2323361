"""Values that change after a trace."""
