"""The command line: one file a command, one file an output format. A client of the engine like the server is."""
