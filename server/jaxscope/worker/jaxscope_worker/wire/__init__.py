"""Messages between server and worker: the only code that both sides import. Standard library only."""
