// A C++ program as users write it, on ONNX Runtime's own C++ header. cxx_program MODELS
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

int main(int, char** argv) {
  const std::string models = argv[1];
  Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "program");
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1)
      .SetGraphOptimizationLevel(ORT_ENABLE_ALL)
      .AddConfigEntry("session.intra_op.allow_spinning", "0");
  Ort::Session session(env, (models + "/cases/several.onnx").c_str(), options);
  Ort::AllocatorWithDefaultOptions allocator;
  std::string shown;
  for (std::size_t i = 0; i < session.GetOutputCount(); ++i) {
    shown += std::string(i == 0 ? "" : ",") + session.GetOutputNameAllocated(i, allocator).get();
  }
  const auto type = session.GetInputTypeInfo(0);
  const auto info = type.GetTensorTypeAndShapeInfo();
  std::vector<const char*> symbols(info.GetDimensionsCount());
  info.GetSymbolicDimensions(symbols.data(), symbols.size());
  shown += std::string(" ") + symbols[0];

  std::vector<float> data{1, 2, 3, 4};
  const std::array<std::int64_t, 2> shape{2, 2};
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  std::vector<Ort::Value> inputs;
  inputs.push_back(Ort::Value::CreateTensor<float>(memory, data.data(), data.size(), shape.data(), shape.size()));
  const char* const in[] = {"x"};
  const char* const out[] = {"product", "sum"};
  const auto results = session.Run(Ort::RunOptions{nullptr}, in, inputs.data(), 1, out, 2);
  for (const auto& value : results) {
    const float* const first = value.GetTensorData<float>();
    for (std::size_t i = 0; i < value.GetTensorTypeAndShapeInfo().GetElementCount(); ++i) {
      shown += " " + std::to_string(first[i]);
    }
  }

  Ort::IoBinding binding(session);
  binding.BindInput("x", inputs[0]);
  binding.BindOutput("sum", memory);
  session.Run(Ort::RunOptions{}, binding);
  shown += " bound " + std::to_string(binding.GetOutputValues()[0].GetTensorData<float>()[1]);
  const auto metadata = session.GetModelMetadata();
  shown += std::string(" ") + metadata.GetGraphNameAllocated(allocator).get();
  try {
    session.Run(Ort::RunOptions{}, in, inputs.data(), 1, in, 1);
  } catch (const Ort::Exception& error) {
    shown += " code " + std::to_string(error.GetOrtErrorCode());
  }
  std::printf("RESULT {\"results\": [\"%s\"], \"ms\": null}\n", shown.c_str());
}
