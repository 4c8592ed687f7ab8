// Weights in other files.
#include <filesystem>
#include <fstream>

#include "import_testing.h"
#include "paths.h"

namespace frazil::test {
namespace {

namespace fs = std::filesystem;

Message entry(std::string_view key, std::string_view value_text) { return text(text({}, 1, key), 2, value_text); }

Message external(std::string_view location, std::string_view offset, std::string_view length) {
  Message t = number(number(number({}, 1, 2), 2, 1), 14, 1);  // f32[2]
  t = text(text(t, 8, "w"), 13, entry("location", location));
  return text(text(t, 13, entry("offset", offset)), 13, entry("length", length));
}

Message model_with(std::string_view location, std::string_view offset = "4", std::string_view length = "8") {
  return model(graph({.nodes = {{"Add", {"x", "w"}, {"z"}}},
                      .inputs = {f32("x", {"2"})},
                      .outputs = {value("z")},
                      .initializers = {external(location, offset, length)}}));
}

class External : public testing::Test {
 protected:
  void SetUp() override {
    link_operators();
    root_ = fs::path(testing::TempDir()) / ("frazil_external_" + std::to_string(::getpid()));
    fs::create_directories(root_ / "model" / "sub");
    const float numbers[] = {1, 2, 3};
    for (const fs::path& p : {root_ / "model" / "w.bin", root_ / "model" / "sub" / "w.bin", root_ / "secret.bin"}) {
      std::ofstream(p, std::ios::binary).write(reinterpret_cast<const char*>(numbers), sizeof numbers);
    }
    fs::create_symlink("sub/w.bin", root_ / "model" / "inside");
    fs::create_symlink("../secret.bin", root_ / "model" / "outside");
    fs::create_directory_symlink("..", root_ / "model" / "up");
  }
  void TearDown() override { fs::remove_all(root_); }

  Result<Graph> load(const Message& bytes) {
    const fs::path path = root_ / "model" / "model.onnx";
    std::ofstream(path, std::ios::binary) << bytes;
    return import_onnx(path.string());
  }
  fs::path root_;
};

TEST_F(External, Reads) {
  for (const char* location : {"w.bin", "./sub/w.bin"}) {
    const Graph g = imported(load(model_with(location)));
    EXPECT_TRUE(g.constant(node_at(g, 0).in[1])->tensor.identical(Tensor::of<float>({2}, {2, 3}))) << location;
  }
}

TEST_F(External, StaysInsideTheFolder) {
  const std::string absolute = (root_ / "secret.bin").string();
  for (const std::string& location : {std::string("../secret.bin"), absolute, std::string("sub/../../secret.bin"),
                                      std::string("outside"), std::string("up/secret.bin"), std::string("sub"),
                                      std::string("missing"), std::string("."), std::string("w.bin\0x", 7)}) {
    const auto result = load(model_with(location));
    ASSERT_FALSE(result.has_value()) << location;
    EXPECT_THAT(result.error().message, testing::HasSubstr("tensor 'w'"));
  }
}

TEST_F(External, ChecksTheRange) {
  expect_fault(load(model_with("w.bin", "8")), Code::bad_model, {"tensor 'w'", "'w.bin'", "8 bytes at offset 8", "12"});
  expect_fault(load(model_with("w.bin", "18446744073709551615")), Code::bad_model, {"'w.bin'"});
  expect_fault(load(model_with("w.bin", "0", "12")), Code::bad_model, {"takes 8 bytes"});
}

TEST_F(External, NeedsAFolder) {
  expect_fault(import(model_with("w.bin")), Code::bad_input, {"tensor 'w'", "'w.bin'", "without a folder"});
}

// ---- models kept outside the repository ----

void import_all(const fs::path& folder) {
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there; set FRAZIL_SHARED";
  link_operators();
  for (const auto& e : fs::recursive_directory_iterator(folder)) {
    if (e.path().extension() != ".onnx") continue;
    const auto result = import_onnx(e.path().string());
    EXPECT_TRUE(result.has_value()) << e.path() << ": " << result.error().message;
  }
}

TEST(SharedModels, Real) { import_all(shared_dir() / "models"); }
TEST(SharedModels, Light) { import_all(shared_dir() / "onnx-tests" / "light"); }
TEST(SharedModels, FromPytorch) {
  import_all(shared_dir() / "onnx-tests" / "pytorch-converted");
  import_all(shared_dir() / "onnx-tests" / "pytorch-operator");
}

}  // namespace
}  // namespace frazil::test
