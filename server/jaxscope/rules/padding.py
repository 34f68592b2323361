"""What to do about arrays whose length differs between calls: explained, as only its author knows what a mask means."""

from __future__ import annotations

from typing import Literal

PADDING = "arrays of differing length have to be padded to one length, with a mask in what is computed of them"
"""Why no fix is offered."""
_BUCKETS = """\
Give the function one of few lengths, and a mask of what is real:

```python
length = 1 << (len(x) - 1).bit_length()  # the next power of two
mask = jnp.arange(length) < len(x)
x = jnp.pad(x, [(0, length - len(x))] + [(0, 0)] * (x.ndim - 1))
```

Lengths up to 1,000 then lead to 11 traces at most. In the function, `jnp.where` with the mask leaves out what is not
real; a mean divides by `mask.sum()`."""
_LAST = """\
Where only the last batch is shorter, leave it out if a step more or less does not matter (`drop_remainder=True`,
`drop_last=True`), or pad it to the length of the others, with a mask of what is real:

```python
mask = jnp.arange(size) < len(x)
x = jnp.pad(x, [(0, size - len(x))] + [(0, 0)] * (x.ndim - 1))
```

In the function, `jnp.where` with the mask leaves out what is not real; a mean divides by `mask.sum()`."""
_GROWS = """\
Make the array once at its final length, and set what is new (`x = x.at[i].set(row)`): its shape stays. Where the final
length is not known:

"""


def padding(cause: Literal["length", "grows", "last batch"]) -> str:
    """Markdown that says how it is done, by what makes the lengths differ."""
    return {"length": _BUCKETS, "grows": _GROWS + _BUCKETS, "last batch": _LAST}[cause]
