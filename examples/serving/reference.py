"""The expected answers of the models, computed independently of the server."""

import models
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reader(lines, lengths):
    """Computes the GRU as ONNX defines it, in NumPy, for sequences padded to equal lengths."""
    w, r, b, out = (models.READER_WEIGHTS[name] for name in ("w", "r", "b", "out"))
    size = models.READER
    w, r, w_bias, r_bias = w[0].T, r[0].T, b[0, : 3 * size], b[0, 3 * size :]
    state = np.zeros((len(lines), size), np.float32)
    for at in range(lines.shape[1]):
        told = np.split(lines[:, at] @ w + w_bias, 3, axis=1)
        gates = [told[i] + state @ r[:, i * size : (i + 1) * size] + r_bias[i * size : (i + 1) * size] for i in (0, 1)]
        update, reset = sigmoid(gates[0]), sigmoid(gates[1])
        new = np.tanh(told[2] + (reset * state) @ r[:, 2 * size :] + r_bias[2 * size :])
        state = np.where(at < lengths[:, None], new + update * (state - new), state)
    return state @ out


class Session:
    """A session's state, in NumPy; each call is a step."""

    def __init__(self):
        self.gates, self.new, self.out = (models.SESSION_WEIGHTS[n].astype(np.float64) for n in ("gates", "new", "out"))
        self.state = np.zeros(models.SESSION)

    def __call__(self, told):
        keep, reset = np.split(sigmoid(np.concatenate([told, self.state]) @ self.gates), 2)
        new = np.tanh(np.concatenate([told, reset * self.state]) @ self.new)
        self.state = new + keep * (self.state - new)
        return self.state @ self.out


class Digits:
    """The answers of both classifiers to each image, run separately in this process, by (stage, steps)."""

    def __init__(self):
        self.images = np.load(models.DIGITS / "images.npy")
        self.labels = np.load(models.DIGITS / "labels.npy")
        made = {(1, 0): models.small(), (3, 8): models.large(8), (3, 4): models.large(4)}
        self.answers = {
            key: np.concatenate([model.run({"image": image[None]})["probabilities"] for image in self.images])
            for key, model in made.items()
        }

    def sure(self, image):
        """Returns the confidence of the small model."""
        return self.answers[1, 0][image].max()
