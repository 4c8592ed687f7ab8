"""Sends an image of examples/digits to a model: ask.py URL NUMBER. See docs/tutorials/serving.md."""

import json
import sys
import urllib.request

import numpy as np

url, number = sys.argv[1], int(sys.argv[2])
image = np.load("examples/digits/images.npy")[number]
tensor = {"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": image.ravel().tolist()}
request = urllib.request.Request(url, json.dumps({"inputs": [tensor]}).encode(), {"Content-Type": "application/json"})
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
print("version", answer["model_version"])
for output in answer["outputs"]:
    print(output["name"], [round(value, 3) for value in output["data"]])
