"""shard_map over four simulated devices, and an array that lies on all of them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

TABLE = np.random.default_rng(0).random((8, 6), dtype=np.float32)


def main():
    mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
    spread = jax.device_put(jnp.arange(64.0).reshape(8, 8), NamedSharding(mesh, PartitionSpec("d")))

    def local(x):
        return jax.lax.psum(x @ TABLE, "d")

    over = shard_map(local, mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec())
    x = jnp.ones((8, 8))
    return jax.jit(over)(x), jax.jit(lambda v: v @ spread)(x)
