"""LitServe with its batching on; a question has one row, as its batches know no other."""

import litserve
import numpy as np
import rival_net


class Digits(litserve.LitAPI):
    def setup(self, device):
        self.known = rival_net.Net()

    def decode_request(self, request):
        return np.asarray(request["inputs"][0], dtype=np.uint8)

    def batch(self, inputs):
        return np.stack(inputs)

    def predict(self, batch):
        return self.known.probabilities(batch)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"predictions": [self.known.said(output)]}


if __name__ == "__main__":
    server = litserve.LitServer(
        Digits(max_batch_size=64, batch_timeout=0.002), accelerator="cpu", workers_per_device=1
    )
    server.run(
        host="127.0.0.1",
        port=rival_net.port(),
        num_api_servers=1,
        log_level="warning",
        access_log=False,
        generate_client_file=False,
    )
