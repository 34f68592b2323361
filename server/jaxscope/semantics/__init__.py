"""What names mean: scopes, imports, the JAX vocabulary, and abstract values of expressions (arrays above all)."""
