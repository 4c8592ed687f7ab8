# The program of README.md, for the root of the repository.
import frazil
import numpy as np
model = frazil.load("examples/digits/model.onnx")  # stops at the first confident stage
image = np.load("examples/digits/images.npy")[:1]
print(model.run({"image": image})["label"])  # [2]
