"""The folder that is put (last) on the user's `sys.path`: it holds `jaxscope_worker` and nothing else.

The server imports only `jaxscope.worker.jaxscope_worker.wire`; all else in there runs in the user's interpreter.
"""
