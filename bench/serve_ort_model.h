#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <frazil/array.h>

namespace bench {

/// ONNX Runtime as a peer server calls it: inputs are used where they lie, and results are views of the peer's own
/// tensors. One thread per operator, all optimisations. Unlike OrtSession (bench/ort.h) it may be called by several
/// threads at once. Every function throws std::runtime_error with the peer's message when a call fails.
class OrtModel {
 public:
  /// `library` as of Ort::find_library().
  OrtModel(const std::string& library, const std::string& path, std::vector<std::string> inputs,
           std::vector<std::string> outputs);
  ~OrtModel();
  OrtModel(const OrtModel&) = delete;
  OrtModel& operator=(const OrtModel&) = delete;

  /// Tensors of numbers by position, as the names were given. Results may outlive the model's next runs, but not it.
  std::vector<frazil::api::Array> run(std::span<const frazil::api::Array> inputs) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace bench
