#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <frazil/array.h>

namespace bench {

/// ONNX Runtime as used in the peer server. Inputs are not copied, and results are views of the peer's tensors. One
/// thread per operator, all optimisations. Unlike OrtSession (bench/ort.h), threads may call it concurrently. Every
/// function throws std::runtime_error with the peer's message if a call fails.
class OrtModel {
 public:
  /// `library` as in Ort::find_library().
  OrtModel(const std::string& library, const std::string& path, std::vector<std::string> inputs,
           std::vector<std::string> outputs);
  ~OrtModel();
  OrtModel(const OrtModel&) = delete;
  OrtModel& operator=(const OrtModel&) = delete;

  /// Runs on numeric tensors, in the order of the names. Results may outlive later runs, but not the model.
  std::vector<frazil::api::Array> run(std::span<const frazil::api::Array> inputs) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace bench
