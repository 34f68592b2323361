"""`jaxscope serve`: the language server."""

from __future__ import annotations

import argparse
import gc


def run(options: argparse.Namespace) -> int:
    """Serves until the client goes."""
    # The server's libraries take half a second to import: no other command should wait for them, and what they make
    # stays to the end, so nobody need look for garbage among it.
    gc.disable()
    from jaxscope.lsp.server import serve

    gc.freeze()
    gc.enable()
    serve(options.tcp)
    return 0
