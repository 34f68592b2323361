"""Runs a command of a packed extension (`serve`, `record`) in whatever Python 3.10 or newer the user works with.

This file lies beside `jaxscope/` and its dependencies, so that its folder, which Python puts first on `sys.path`, is
all that the command needs. Workers and recorded programs are started apart and never see that folder.
"""

import sys
from pathlib import Path

if sys.version_info < (3, 10):  # noqa: UP036 - it is the user's interpreter, which may be older
    sys.exit("jaxscope needs Python 3.10 or newer; {} is {}.{}".format(sys.executable, *sys.version_info[:2]))

HERE = str(Path(__file__).resolve().parent)
sys.path[:] = [HERE, *(entry for entry in sys.path if entry != HERE)]

from jaxscope.cli.main import main  # noqa: E402 - the path comes first

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
