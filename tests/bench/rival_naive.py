"""The endpoint that everybody writes first: FastAPI, typed JSON, torch in the handler, on the loop."""

import rival_net
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
known = rival_net.Net()


class Question(BaseModel):
    inputs: list[list[list[float]]]


@app.post("/predict")
async def predict(question: Question):
    return {"predictions": [known.said(row) for row in known.probabilities(question.inputs)]}


if __name__ == "__main__":
    quiet = {"log_config": None, "access_log": False}
    uvicorn.run(app, port=rival_net.port(), loop="uvloop", http="httptools", **quiet)
