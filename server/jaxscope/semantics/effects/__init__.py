"""What traced code does to things outside."""
