"""Python imports this at its start when `jaxscope record` has put the folder on PYTHONPATH.

So the user's program is run by Python itself: `__main__`, arguments, tracebacks and exit status are what they always
are, and Pythons that the program starts are recorded too. The user's own `sitecustomize`, if there is one, is imported
next. This file must be read by whatever Python comes along; what it loads needs 3.10.
"""

import importlib
import importlib.util
import os
import sys


def _begin(run, here):
    package = os.path.dirname(here)
    if "jaxscope_worker" not in sys.modules:
        # By file: no folder of ours is on the program's sys.path.
        spec = importlib.util.spec_from_file_location(
            "jaxscope_worker", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
        )
        sys.modules["jaxscope_worker"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    from jaxscope_worker import begin_recording

    begin_recording.begin(run)


def _customize():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    run = os.environ.get("JAXSCOPE_RECORDING")
    if run and sys.version_info >= (3, 10):
        try:
            _begin(run, here)
        except Exception as error:
            sys.stderr.write("jaxscope: this process is not recorded: " + repr(error) + "\n")
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = ours


_customize()
