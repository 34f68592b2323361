"""`jaxscope serve`: the language server."""

from __future__ import annotations

import argparse


def run(options: argparse.Namespace) -> int:
    """Serves until the client goes."""
    # The server's libraries take half a second to import: no other command should wait for them.
    from jaxscope.lsp.server import serve

    serve(options.tcp)
    return 0
