// The options of a load that replace parts of the file: extents and external data.
#include <filesystem>
#include <fstream>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/message_of.h"
#include "api/tiny_onnx.h"

namespace {

using frazil::Array;
using frazil::Code;
using frazil::LoadOptions;
using frazil::Model;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// ---- extents ----

/// y = Add(x, x) for x[N,H,?] with H of denotation "HEIGHT", and z = Neg(w) for w[N].
std::string two_inputs(const std::string& more = {}) {
  using namespace onnx_file;
  const std::string shape = extent("N") + extent("H", "HEIGHT") + extent("?");
  return onnx_file::model({.nodes = {node("Add", {"x", "x"}, "y"), node("Neg", {"w"}, "z")},
                           .inputs = {port("x", bytes(1, number(1, kF32) + bytes(2, shape))), f32("w", {"N"})},
                           .outputs = {f32("y", {"N", "H", "?"}), f32("z", {"N"})}},
                          9, 18, more);
}

TEST(FixedExtents, ReplaceTheSymbolsOfInputs) {
  struct Case {
    std::map<std::string, std::int64_t> by_name, by_denotation;
    std::string x, y, z;
  };
  const Case cases[] = {
      {{}, {}, "f32[N,H,x.2]", "f32[N,H,x.2]", "f32[N]"},
      {{{"N", 4}}, {}, "f32[4,H,x.2]", "f32[4,H,x.2]", "f32[4]"},
      {{{"N", 0}, {"unknown", 7}}, {{"unknown", 7}}, "f32[0,H,x.2]", "f32[0,H,x.2]", "f32[0]"},
      {{}, {{"HEIGHT", 5}}, "f32[N,5,x.2]", "f32[N,5,x.2]", "f32[N]"},
      {{{"H", 6}}, {{"HEIGHT", 5}}, "f32[N,5,x.2]", "f32[N,5,x.2]", "f32[N]"},
      {{{"N", 1}, {"H", 2}, {"?", 3}}, {}, "f32[1,2,3]", "f32[1,2,3]", "f32[1]"},
      {{{"", 3}}, {{"", 3}}, "f32[N,H,x.2]", "f32[N,H,x.2]", "f32[N]"},
  };
  for (const Case& c : cases) {
    LoadOptions options;
    options.extents = c.by_name;
    options.denoted_extents = c.by_denotation;
    const Model model = Model::from_bytes(bytes_of(two_inputs()), options);
    EXPECT_EQ(model.inputs()[0].type, c.x);
    EXPECT_EQ(model.outputs()[0].type, c.y);
    EXPECT_EQ(model.outputs()[1].type, c.z);
    EXPECT_EQ(model.inputs()[0].declared, (std::vector<std::string>{"N", "H", "?"})) << "as in the file";
  }
}

TEST(FixedExtents, AreCheckedInRuns) {
  LoadOptions options;
  options.extents = {{"N", 2}};
  const Model model = Model::from_bytes(bytes_of(two_inputs()), options);
  const Array x(frazil::Dtype::f32, {2, 3, 1}), two(frazil::Dtype::f32, {2}), three(frazil::Dtype::f32, {3});
  EXPECT_EQ(model.run({{"x", x}, {"w", two}})["z"].count(), 2);
  EXPECT_THAT(message_of([&] { model.run({{"x", x}, {"w", three}}); }, Code::bad_input),
              HasSubstr("input 'w': expected f32[2], got f32[3]"));
}

TEST(FixedExtents, ThatCannotBe) {
  using namespace onnx_file;
  const std::string bounds = bytes(14, bytes(1, "frazil.dim.N") + bytes(2, "1..64"));
  struct Case {
    std::string file;
    std::map<std::string, std::int64_t> by_name, by_denotation;
    std::string says;
  };
  const std::string fixed_height = bytes(1, number(1, kF32) + bytes(2, extent("3", "HEIGHT")));
  const std::string fixed = onnx_file::model(
      {.nodes = {node("Neg", {"x"}, "y")}, .inputs = {port("x", fixed_height)}, .outputs = {port("y")}});
  const Case cases[] = {
      {two_inputs(), {{"N", -1}}, {}, "LoadOptions::extents: 'N' is -1, expected 0 to"},
      {two_inputs(), {}, {{"HEIGHT", -1}}, "LoadOptions::denoted_extents: 'HEIGHT' is -1, expected 0 to"},
      {two_inputs(bounds), {{"N", 65}}, {}, "input 'x': its extent 'N' is set to 65, outside of its bounds 1..64"},
      {fixed, {}, {{"HEIGHT", 4}}, "input 'x': its extent 3 has the denotation 'HEIGHT', which is set to 4"},
  };
  for (const Case& c : cases) {
    LoadOptions options;
    options.extents = c.by_name;
    options.denoted_extents = c.by_denotation;
    EXPECT_THAT(message_of([&] { Model::from_bytes(bytes_of(c.file), options); }, Code::bad_input), HasSubstr(c.says));
  }
}

// ---- external data ----

/// y = Add(x, w) for a weight w of another file.
std::string adding(const std::string& location, int offset = 4) {
  using namespace onnx_file;
  return model({.nodes = {node("Add", {"x", "w"}, "y")},
                .inputs = {f32("x", {"2"})},
                .outputs = {f32("y", {"2"})},
                .initializers = {external("w", location, offset)}});
}

std::vector<float> sum_with_zero(const Model& model) {
  const auto y = model.run({{"x", Array::of<float>({2}, {0, 0})}});
  return {y[0].values<float>().begin(), y[0].values<float>().end()};
}

const std::vector<float> kNumbers{1, 2, 3}, kOthers{5, 6, 7};

TEST(FilesInMemory, AreFoundByLocationThenByName) {
  struct Case {
    std::string location;
    std::vector<std::string> keys;  ///< the first one has the weight
  };
  const Case cases[] = {
      {"w.bin", {"w.bin"}},
      {"w.bin", {"w.bin", "sub/w.bin"}},
      {"sub/w.bin", {"sub/w.bin", "w.bin", "other/w.bin"}},
      {"./sub/w.bin", {"w.bin", "v.bin"}},
      {"../w.bin", {"folder/w.bin"}},
      {"/absolute/w.bin", {"w.bin"}},
  };
  for (const Case& c : cases) {
    LoadOptions options;
    for (const std::string& key : c.keys) options.files[key] = std::as_bytes(std::span(kOthers));
    options.files[c.keys[0]] = std::as_bytes(std::span(kNumbers));
    const Model model = Model::from_bytes(bytes_of(adding(c.location)), options);
    EXPECT_EQ(sum_with_zero(model), (std::vector<float>{2, 3})) << c.location;
  }
}

TEST(FilesInMemory, LiveDuringTheLoadOrWithTheModel) {
  auto numbers = std::make_shared<std::vector<float>>(kNumbers);
  LoadOptions options;
  options.files["w.bin"] = std::as_bytes(std::span(*numbers));
  const Model copied = Model::from_bytes(bytes_of(adding("w.bin")), options);
  *numbers = {9, 9, 9};
  EXPECT_EQ(sum_with_zero(copied), (std::vector<float>{2, 3}));

  auto large = std::make_shared<std::vector<float>>(kNumbers);
  const std::weak_ptr<std::vector<float>> watched = large;
  options.files["w.bin"] = std::as_bytes(std::span(*large));
  options.files_owner = large;
  {
    const Model borrowed = Model::from_bytes(bytes_of(adding("w.bin", 0)), options);
    large.reset();
    options.files_owner.reset();
    EXPECT_FALSE(watched.expired()) << "the model uses the bytes";
    EXPECT_EQ(sum_with_zero(borrowed), (std::vector<float>{1, 2}));
  }
  EXPECT_TRUE(watched.expired());
}

TEST(FilesInMemory, StandBeforeTheFolder) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("frazil_memory_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto write = [&](const char* name, std::span<const std::byte> bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  write("m.onnx", bytes_of(adding("w.bin")));
  write("w.bin", std::as_bytes(std::span(kOthers)));
  LoadOptions options;
  options.files["v.bin"] = std::as_bytes(std::span(kNumbers));
  EXPECT_EQ(sum_with_zero(Model::load(folder / "m.onnx", options)), (std::vector<float>{6, 7}));
  options.files["w.bin"] = std::as_bytes(std::span(kNumbers));
  EXPECT_EQ(sum_with_zero(Model::load(folder / "m.onnx", options)), (std::vector<float>{2, 3}));
  fs::remove_all(folder);
}

TEST(FilesInMemory, FaultsNameTheTensor) {
  struct Case {
    std::string file;
    std::vector<std::string> keys;
    Code code;
    std::vector<std::string> says;
  };
  const Case cases[] = {
      {adding("w.bin", 8), {"w.bin"}, Code::bad_model, {"8 bytes at offset 8 are requested, but it has 12"}},
      {adding("w.bin", 13), {"w.bin"}, Code::bad_model, {"8 bytes at offset 13"}},
      {adding("w.bin"), {}, Code::bad_input, {"without a folder"}},
      {adding("w.bin"), {"v.bin"}, Code::bad_input, {"without a folder", "the files in memory do not have it"}},
      {adding("w.bin"), {"a/w.bin", "b/w.bin"}, Code::bad_input, {"'a/w.bin' and 'b/w.bin'"}},
  };
  for (const Case& c : cases) {
    LoadOptions options;
    for (const std::string& key : c.keys) options.files[key] = std::as_bytes(std::span(kNumbers));
    const std::string text = message_of([&] { Model::from_bytes(bytes_of(c.file), options); }, c.code);
    EXPECT_THAT(text, HasSubstr("tensor 'w': external data 'w.bin'"));
    for (const std::string& part : c.says) EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
