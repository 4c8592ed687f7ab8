#pragma once

#include <filesystem>
#include <string>

#include <frazil/error.h>
#include <frazil/model.h>
#include <gtest/gtest.h>

#include "server/service.h"

// Folders of models that tests serve.
namespace frazil::test {

/// A folder that goes with the object.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "frazil-serve-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Writes a model of the text as NAME.onnx, or as version NAME/VERSION.
  void add(const std::string& name, const std::string& text) const {
    const auto at = path_ / name;
    const bool version = name.find('/') != std::string::npos;
    std::filesystem::create_directories(version ? at : path_);
    api::Model::from_text(text).save(version ? (at / "model.onnx").string() : at.string() + ".onnx");
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

constexpr const char *kDouble = "graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }",
                     *kTriple = "graph g(%x: f32[N,2]) { %y = Mul(%x, f32[] 3) return y = %y }",
                     *kCount =
                         "graph g(%n: i64[]) { %y = Loop(%n, _, f32[] 0) body(%i, %on, %v) {"
                         "%b = Add(%v, f32[] 1) %c = Cos(%b) yield %on, %c } return y = %y }";

inline server::Service service_of(const Folder& folder) {
  return {server::Repository::load(folder.path(), {.tier = "0", .threads = 1}), "1.2.3"};
}

}  // namespace frazil::test
