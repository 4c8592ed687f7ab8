#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <frazil/error.h>
#include <frazil/model.h>
#include <gtest/gtest.h>

#include "error/tool.h"
#include "server/service/service.h"

// Folders of models that tests serve.
namespace frazil::test {

/// A folder of models that goes with the object.
class Folder {
 public:
  /// Writes a model of the text as NAME.onnx, or as version NAME/VERSION.
  void add(const std::string& name, const std::string& text) const {
    const bool version = name.find('/') != std::string::npos;
    if (version) std::filesystem::create_directories(folder_ / name);
    api::Model::from_text(text).save(folder_ / (name + (version ? "/model.onnx" : ".onnx")));
  }
  /// Writes another file, such as NAME/config.pbtxt or a pipeline NAME.yaml.
  void write(const std::string& name, const std::string& text) const {
    const std::string file = folder_ / name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  std::string path() const { return folder_ / ""; }

 private:
  TempFolder folder_;
};

constexpr const char *kDouble = "graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }",
                     *kTriple = "graph g(%x: f32[N,2]) { %y = Mul(%x, f32[] 3) return y = %y }",
                     *kCount =
                         "graph g(%n: i64[]) { %y = Loop(%n, _, f32[] 0) body(%i, %on, %v) {"
                         "%b = Add(%v, f32[] 1) %c = Cos(%b) yield %on, %c } return y = %y }";

/// Fails each run: its index is outside of the tensor.
constexpr const char* kFails =
    "graph g(%x: f32[N,2]) { %m = ReduceMax(%x) {keepdims = 0} %z = Mul(%m, f32[] 0) %f = Add(%z, f32[] 7)"
    "%i = Cast(%f) {to = i64} %v = Gather(%x, %i) {axis = 1} %u = Unsqueeze(%v, i64[1] 1) %y = Add(%x, %u) return y = "
    "%y "
    "}";

/// Returns the sum of all values so far, and keeps them as a state that grows.
constexpr const char* kTalk = R"(
graph talk(%x: f32[S], %said: f32[P]) {
  %all = Concat(%said, %x) {axis = 0}
  %sum = ReduceSum(%all) {keepdims = 0}
  return sum = %sum, all = %all
})";

/// How tests serve a folder: one worker, nothing compiled, and all that the network may do turned on.
inline server::ServiceOptions options_of(const Folder& folder) {
  return {.folder = folder.path(),
          .run = {.tier = "0", .threads = 1},
          .workers = 1,
          .version = "1.2.3",
          .network = {.model_control = true, .replay = true, .tensors = true, .client_shm = true}};
}

}  // namespace frazil::test
