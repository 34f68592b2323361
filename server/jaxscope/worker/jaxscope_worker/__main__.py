"""Starts a worker. Launched by file, `python .../jaxscope_worker/__main__.py`, in the user's interpreter.

Python put this file's folder first on the path; it goes away, and the folder above it goes last, so that no module of
ours can stand before one of the user's.
"""

from __future__ import annotations

import os
import sys


def _arrange_path() -> None:
    ours = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != ours]
    sys.path.append(os.path.dirname(ours))


if __name__ == "__main__":
    _arrange_path()
    from jaxscope_worker import channel

    with channel.take_over() as link:
        from jaxscope_worker import loop

        status = loop.serve(link)
    # Threads that the user's code started must not keep the process alive, nor its exit handlers write files.
    os._exit(status)
