"""Decorators around jitted functions and jit around decorated ones, objects that are called, classes as pytrees."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.random.default_rng(0).random(17, dtype=np.float32)


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@logged
@jax.jit
def inside(x):
    return x + TABLE


@jax.jit
@logged
def outside(x):
    return x * TABLE


class Layer:
    def __init__(self):
        self.w = jnp.arange(17.0)

    def __call__(self, x):
        return x - self.w


@jax.tree_util.register_pytree_node_class
class Tree:
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

    @jax.jit
    def apply(self, x):
        return x * self.w + TABLE


def main():
    x = jnp.ones(17)
    return inside(x), outside(x), jax.jit(Layer())(x), Tree(jnp.arange(17.0)).apply(x)
