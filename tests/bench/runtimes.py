"""The LeNet's forward pass in ONNX Runtime against torch, one thread, batches of 1, 16 and 64, taken in turns."""

import statistics
import time

import numpy as np
import torch

from c2s import config, runtime
from c2s.exporting import export
from c2s.nets import choice
from c2s.shape import Shape

ROUNDS = 300


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = Shape("image", 10, image=(28, 28, 1))
    net = choice.build(config.LeNet(), shape).eval()
    session = runtime.Session(export.graph(net, shape, ()), threads=1)
    rng = np.random.default_rng(0)
    for rows in (1, 16, 64):
        pixels = rng.integers(0, 256, (rows, 28, 28, 1), dtype=np.uint8)
        seconds: dict[str, list[float]] = {"torch": [], "onnxruntime": []}
        for _ in range(ROUNDS):
            start = time.perf_counter()
            with torch.inference_mode():
                net(torch.from_numpy(pixels)).double().softmax(1).numpy()
            middle = time.perf_counter()
            session.probabilities(pixels)
            seconds["torch"].append(middle - start)
            seconds["onnxruntime"].append(time.perf_counter() - middle)
        told = {name: statistics.median(found) * 1e6 / rows for name, found in seconds.items()}
        ratio = told["torch"] / told["onnxruntime"]
        print(
            f"{rows:3d} rows: " + ", ".join(f"{name} {us:.0f} us a row" for name, us in told.items()),
            f"{ratio:.1f}x",
        )


if __name__ == "__main__":
    main()
