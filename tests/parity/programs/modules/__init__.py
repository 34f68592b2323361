"""What the programs import."""
