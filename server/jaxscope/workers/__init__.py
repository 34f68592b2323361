"""Processes that run the user's code: finding the interpreter, starting, watching and ending them."""
