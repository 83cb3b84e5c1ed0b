"""The start values of exported steps, made with numpy alone.

Input recipe (no framework needed; bit-exact in C++ too)
    splitmix64(x):  z = x + 0x9E3779B97F4A7C15
                    z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
                    z = (z ^ z>>27) * 0x94D049BB133111EB
                    return z ^ z>>31                                  (all uint64, wrapping)
    u24(seed, i) = splitmix64(seed * 2^32 + i) >> 40                  (i = row-major element index)
    "uniform":  float32(u24 * 2^-23 - 1) * float32(scale) + float32(offset)   (f32 arithmetic, then cast to dtype)
    "int":      u24 mod high
    "const":    every element = value
Each argument leaf of NAME.json carries its recipe under "init".
"""
import numpy as np


def splitmix64(x):
    with np.errstate(over="ignore"):
        z = x + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def make(init, shape, dtype):
    n = int(np.prod(shape)) if len(shape) else 1
    if init["kind"] == "const":
        return np.full(shape, init["value"], dtype)
    u = splitmix64(np.uint64(init["seed"]) * np.uint64(1 << 32) + np.arange(n, dtype=np.uint64)) >> np.uint64(40)
    if init["kind"] == "int":
        return (u % np.uint64(init["high"])).astype(dtype).reshape(shape)
    f = (u.astype(np.float32) * np.float32(2.0 ** -23) - np.float32(1)) * np.float32(init["scale"]) + np.float32(init.get("offset", 0))
    return f.astype(dtype).reshape(shape)
