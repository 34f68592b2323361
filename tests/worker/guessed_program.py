"""Functions as people write them, to be guessed at: `test_guessing.py`."""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

W = jnp.asarray(np.random.RandomState(0).randn(64, 128), jnp.float32)
U = jnp.asarray(np.random.RandomState(1).randn(128, 128), jnp.float32)
EMB = jnp.asarray(np.random.RandomState(2).randn(1000, 32), jnp.float32)
KERNEL = jnp.ones((3, 3, 5, 7))
TABLE = np.linspace(0, 1, 500).astype(np.float32)
WQ = jnp.ones((32, 32))
SCALE = jnp.ones(48)


@jax.jit
def matmul(x):
    return x @ W


@jax.jit
def mlp(x):
    return jnp.tanh(x @ W) @ U


@jax.jit
def mlp_args(x, w1, b1, w2, b2):
    h = jnp.tanh(x @ w1 + b1)
    return h @ w2 + b2


@jax.jit
def mlp_params(params, x):
    h = jnp.tanh(x @ params["w1"] + params["b1"])
    return h @ params["w2"] + params["b2"]


@jax.jit
def attention(x):
    q = jnp.einsum("btd,de->bte", x, WQ)
    k = jnp.einsum("btd,de->bte", x, WQ)
    return jax.nn.softmax(jnp.einsum("bte,bse->bts", q, k)) @ x


@jax.jit
def conv(images):
    return lax.conv_general_dilated(images, KERNEL, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@jax.jit
def conv_x(x):
    return lax.conv_general_dilated(x, KERNEL, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@jax.jit
def embed(ids):
    return EMB[ids]


@jax.jit
def embed_x(x):
    return jnp.take(EMB, x, axis=0) @ WQ


@jax.jit
def lstm_cell(state, x):
    h, c = state
    z = x @ W + h @ U
    i, f, g, o = jnp.split(z, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


@jax.jit
def scan_rnn(h0, xs):
    def body(h, x):
        h = jnp.tanh(x @ W + h @ U)
        return h, h

    return lax.scan(body, h0, xs)


@jax.jit
def layer_norm(x):
    m = x.mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(((x - m) ** 2).mean(-1, keepdims=True)) * SCALE


@jax.jit
def flat(x):
    return x.reshape(-1, 784) @ jnp.ones((784, 10))


@jax.jit
def inv(a):
    return jnp.linalg.inv(a) @ a


@jax.jit
def masked(mask, x):
    return jnp.where(mask & True, x, 0.0) * SCALE


@jax.jit
def unpack4(x):
    b, h, w, c = x.shape
    return x.reshape(b, h * w * c)


class Model:
    def __init__(self):
        self.w = W

    @functools.partial(jax.jit, static_argnums=0)
    def forward(self, x):
        return x @ self.w

    def plain(self, x, train=False):
        return x @ self.w


MODEL = Model()


@jax.jit
def noisy(key, x):
    return x @ W + jax.random.normal(key, (128,))


@jax.jit
def dropout(x, k):
    keep = jax.random.bernoulli(k, 0.5, x.shape)
    return jnp.where(keep, x @ W @ W.T, 0)


@functools.partial(jax.jit, static_argnames=("n",))
def repeat(x, n):
    for _ in range(n):
        x = x @ U
    return x


@functools.partial(jax.jit, static_argnums=(1,))
def act(x, kind):
    if kind == "relu":
        return jax.nn.relu(x @ W)
    elif kind == "gelu":
        return jax.nn.gelu(x @ W)
    raise ValueError(kind)


class State(NamedTuple):
    w: Any
    step: Any


@jax.jit
def named(state: State, x):
    return State(state.w - x @ W, state.step + 1)


@jax.jit
def attr(state, x):
    return state.w @ x + state.bias


@jax.jit
def layers(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return x @ W


@jax.jit
def batch_loss(params, batch):
    x, y = batch["image"], batch["label"]
    logits = x @ params["dense"]["kernel"] + params["dense"]["bias"]
    return -jnp.mean(jax.nn.log_softmax(logits @ W)[jnp.arange(y.shape[0]), y])


@jax.jit
def sgd(params, x, y):
    def loss(p):
        return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)

    g = jax.grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, g)


@jax.jit
def interp(x):
    return jnp.interp(x, jnp.linspace(0, 1, 500), TABLE)


@jax.jit
def mha(x, params):
    b, t, _ = x.shape
    qkv = x @ params["qkv"]
    q, k, v = jnp.split(qkv.reshape(b, t, 4, -1), 3, axis=-1)
    a = jnp.einsum("bthd,bshd->bhts", q, k)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(a), v).reshape(b, t, -1)


@jax.jit
def lookup(i, x):
    return lax.dynamic_index_in_dim(EMB, i, keepdims=False) + x


@jax.jit
def vmapped(xs):
    return jax.vmap(lambda x: W.T @ x)(xs)


@jax.jit
def kw(x, *, scale):
    return x @ W * scale


@jax.jit
def never_fits(x):
    return x @ W @ W


@jax.jit
def needs_values(x):
    if x.sum() > 0:
        return x @ W
    return x


@jax.jit
def fft(x):
    return jnp.fft.ifft(jnp.fft.fft(x) * jnp.ones(96)).real


@jax.jit
def gru(params, h, xs):
    def step(h, x):
        z = jax.nn.sigmoid(x @ params["wz"] + h @ params["uz"])
        return (1 - z) * h + z * jnp.tanh(x @ params["wh"]), h

    return lax.scan(step, h, xs)


@jax.jit
def concat(x, y):
    return jnp.concatenate([x, y], axis=-1) @ W


@jax.jit
def fori(x, n):
    return lax.fori_loop(0, n, lambda i, c: c @ U, x)


@jax.jit
def items(params):
    return {k: v * 2 for k, v in params.items()}


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 4


@functools.partial(jax.jit, static_argnums=0)
def configured(cfg: Config, x):
    return x @ W * cfg.width
