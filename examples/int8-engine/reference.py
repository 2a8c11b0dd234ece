"""The engine in NumPy, in the form of PyTorch: modules with forward and backward, and an optimizer that steps them."""

import numpy as np

SHIFT, UPDATE_SHIFT, TARGET = 7, 11, 64


def scaled(values, shift):
    return (values + (1 << (shift - 1))) >> shift


def clamped(values):
    return np.clip(values, -127, 127)


class Linear:
    """A layer without bias, in int32 for all sums."""

    def __init__(self, outputs, inputs, rng):
        self.weight = rng.integers(-64, 65, (outputs, inputs)).astype(np.int32)

    def forward(self, x):
        self.x = x
        return x @ self.weight.T

    def backward(self, error):
        self.grad = error.T @ self.x
        return error @ self.weight


class Net:
    """16 inputs, 12 hidden units with ReLU, 3 outputs."""

    def __init__(self, rng):
        self.fc1, self.fc2 = Linear(12, 16, rng), Linear(3, 12, rng)

    def forward(self, x):
        self.h = clamped(np.where((sums := self.fc1.forward(x)) > 0, scaled(sums, SHIFT), 0))
        return clamped(scaled(self.fc2.forward(self.h), SHIFT))

    def backward(self, error):
        self.fc1.backward(np.where(self.h > 0, clamped(scaled(self.fc2.backward(error), SHIFT)), 0))

    def state(self):
        return {"fc1": self.fc1.weight.astype(np.int8), "fc2": self.fc2.weight.astype(np.int8)}


class Training:
    """SGD on the squared error, one batch a step."""

    def __init__(self, net, batches):
        self.net, self.batches = net, batches

    def step(self, index):
        x, label = self.batches[index]
        error = clamped(self.net.forward(x.astype(np.int32)) - np.where(np.eye(3, dtype=bool)[label], TARGET, -TARGET))
        self.net.backward(error)
        for layer in (self.net.fc1, self.net.fc2):
            layer.weight = clamped(layer.weight - scaled(layer.grad, UPDATE_SHIFT))
        return {"loss": np.int32((error**2).sum()), **self.net.state()}
