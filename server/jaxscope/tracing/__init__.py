"""The dynamic side as the engine sees it: what to trace with which arguments, and what was seen. No processes."""
