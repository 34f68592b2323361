"""Scopes, bindings and reads: which name means which."""
