"""BentoML with its adaptive batching on; it needs the service's process and none for HTTP alone."""

import bentoml
import numpy as np
import rival_net


@bentoml.service(workers=1, traffic={"timeout": 30}, logging={"access": {"enabled": False}})
class Digits:
    def __init__(self):
        self.known = rival_net.Net()

    @bentoml.api(batchable=True, max_batch_size=64, max_latency_ms=1000)
    def predict(self, inputs: np.ndarray) -> list[dict]:
        return [self.known.said(row) for row in self.known.probabilities(inputs)]
