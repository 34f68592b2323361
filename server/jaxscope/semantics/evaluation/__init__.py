"""What an expression is worth, without running it."""
