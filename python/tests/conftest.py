"""Models that several files test with."""

import signal

import frazil
import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what runs in its background ignore interrupts


@pytest.fixture(scope="session")
def affine():
    """y = x + s and z = y * y."""
    return frazil.from_text(
        """graph affine(%x: f32[N], %s: f32[] = 0) {
             %y: f32[N] = Add(%x, %s)
             %z: f32[N] = Mul(%y, %y)
             return y = %y, z = %z
           }"""
    )


@pytest.fixture(scope="session")
def square():
    return frazil.from_text('graph square(%x: f32[...]) { %y = Mul(%x, %x) "product" return y = %y }')


@pytest.fixture(scope="session")
def endless():
    """Does not end by itself."""
    g = frazil.Graph("endless")
    x = g.input("x", frazil.float32)
    g.output("y", g.loop(None, True, x, lambda i, condition, v: (~~condition, v + 1)))
    return g.build(deadline_ms=30_000)
