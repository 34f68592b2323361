"""jaxscope: what JAX makes of the functions in a file, in the editor and on the command line."""

__version__ = "0.1.0"

pytest_plugins = ("jaxscope.pytest_plugin",)
"""What pytest loads for `pytest -p jaxscope`."""
