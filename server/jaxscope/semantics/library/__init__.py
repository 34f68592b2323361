"""What the functions of jax.numpy, numpy and Python give back."""
