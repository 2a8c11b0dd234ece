"""The training of mlp.c in NumPy, with matrices instead of loops: the order of the sums differs, so the bits may."""

import numpy as np

HIDDEN, BATCH, RATE = 16, 16, np.float32(0.25)


def uniform(state: int, count: int) -> np.ndarray:
    """Return float32 numbers in [-1, 1) of the generator in mlp.c."""
    numbers = []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        numbers.append((state >> 8) / 2**23 - 1)
    return np.array(numbers, np.float32)


class Mlp:
    """Two inputs, 16 hidden units with ReLU, two classes with softmax, SGD without momentum."""

    def __init__(self):
        numbers = uniform(1, 2 * HIDDEN + 2 * HIDDEN)
        self.w1 = numbers[: 2 * HIDDEN].reshape(HIDDEN, 2)
        self.w2 = np.float32(0.5) * numbers[2 * HIDDEN :].reshape(2, HIDDEN)
        self.b1, self.b2 = np.zeros(HIDDEN, np.float32), np.zeros(2, np.float32)

    def step(self, index):
        x = uniform(1000 + index, 2 * BATCH).reshape(BATCH, 2)
        label = (x[:, 0] * x[:, 1] > 0).astype(int)
        h = np.maximum(x @ self.w1.T + self.b1, 0)
        z = h @ self.w2.T + self.b2
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        loss = -np.log(p[np.arange(BATCH), label]).mean(dtype=np.float32)
        d = p - np.eye(2, dtype=np.float32)[label]
        dh = (d @ self.w2) * (h > 0)
        rate = RATE / np.float32(BATCH)
        self.w1, self.b1 = self.w1 - rate * (dh.T @ x), self.b1 - rate * dh.sum(0)
        self.w2, self.b2 = self.w2 - rate * (d.T @ h), self.b2 - rate * d.sum(0)
        return {"loss": loss, "w1": self.w1, "b1": self.b1, "w2": self.w2, "b2": self.b2}
