// Weights in other files.
#include "onnx/read/external.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/value/sha1.h"
#include "import_testing.h"
#include "paths.h"

namespace frazil::test {
namespace {

namespace fs = std::filesystem;
using onnx::ExternalFiles;

using Entries = std::vector<std::pair<std::string, std::string>>;

/// A tensor f32[`count`] with external data.
Message external(std::string_view name, const Entries& entries, std::int64_t count = 2) {
  Message t = number(number(number({}, 1, count), 2, 1), 14, 1);
  t = text(t, 8, name);
  for (const auto& [key, value_text] : entries) t = text(t, 13, text(text({}, 1, key), 2, value_text));
  return t;
}
Entries at(std::string_view location, std::string_view offset = "4", std::string_view length = "8") {
  return {{"location", std::string(location)}, {"offset", std::string(offset)}, {"length", std::string(length)}};
}

/// x + w for each weight given by name.
GraphSpec adding(const std::vector<std::pair<std::string, Message>>& weights) {
  GraphSpec spec{.nodes = {}, .inputs = {f32("x", {"2"})}, .outputs = {}};
  for (const auto& [name, weight] : weights) {
    spec.initializers.push_back(weight);
    spec.nodes.push_back({"Add", {"x", name}, {"z" + name}});
    spec.outputs.push_back(value("z" + name));
  }
  return spec;
}
Message model_with(const Entries& entries) { return model(graph(adding({{"w", external("w", entries)}}))); }

class External : public testing::Test {
 protected:
  void SetUp() override {
    link_operators();
    root_ = fs::path(testing::TempDir()) / ("frazil_external_" + std::to_string(::getpid()));
    fs::create_directories(folder() / "sub");
    for (const fs::path& p : {folder() / "w.bin", folder() / "sub" / "w.bin", root_ / "secret.bin"}) {
      write(p, {1, 2, 3});
    }
    fs::create_symlink("sub/w.bin", folder() / "inside");
    fs::create_symlink("../secret.bin", folder() / "outside");
    fs::create_symlink(root_ / "secret.bin", folder() / "absolute");
    fs::create_symlink("/proc/self/root" / (root_ / "secret.bin").relative_path(), folder() / "magic");
    fs::create_symlink("loop", folder() / "loop");
    fs::create_directory_symlink("..", folder() / "up");
    fs::create_directory_symlink("sub", folder() / "down");
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path folder() const { return root_ / "model"; }
  static void write(const fs::path& path, const std::vector<float>& numbers) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * 4));
  }
  Result<Graph> load(const Message& bytes) const {
    const fs::path path = folder() / "model.onnx";
    std::ofstream(path, std::ios::binary) << bytes;
    return import_onnx(path.string());
  }
  /// The weight of node `i`.
  static Tensor weight(const Graph& g, std::size_t i = 0) {
    const Constant* c = i < g.main().nodes.size() ? g.constant(node_at(g, i).in[1]) : nullptr;
    EXPECT_NE(c, nullptr);
    return c ? c->tensor : Tensor();
  }
  fs::path root_;
};

const Tensor kTwoThree = Tensor::of<float>({2}, {2, 3});

TEST_F(External, Reads) {
  const Entries cases[] = {
      at("w.bin"),
      at("./sub/w.bin"),
      at("sub//w.bin"),
      at("inside"),
      at("down/w.bin"),
      {{"location", "w.bin"}, {"offset", "4"}},                   // the length defaults to the tensor's
      {{"offset", "4"}, {"location", "w.bin"}, {"length", "8"}},  // in any order
      {{"location", "w.bin"}, {"offset", "4"}, {"basepath", "/x"}, {"note", ""}},  // keys of other programs
  };
  for (const Entries& entries : cases) {
    EXPECT_TRUE(identical(weight(imported(load(model_with(entries)))), kTwoThree)) << entries[0].second;
  }
}

TEST_F(External, StaysInsideTheFolder) {
  ASSERT_EQ(::mkfifo((folder() / "pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string socket_path = (folder() / "socket").string();
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  std::ranges::copy(socket_path, address.sun_path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  struct Case {
    std::string location;
    Code code;
    std::string says;
  };
  const Case cases[] = {
      {"", Code::bad_model, "without a location"},
      {".", Code::bad_model, "not a relative path"},
      {"../secret.bin", Code::bad_model, "not a relative path"},
      {"..", Code::bad_model, "not a relative path"},
      {"sub/../w.bin", Code::bad_model, "not a relative path"},
      {(root_ / "secret.bin").string(), Code::bad_model, "not a relative path"},
      {std::string("w.bin\0x", 7), Code::bad_model, R"('w.bin\x00x': not a relative path)"},
      {"outside", Code::bad_model, "points outside the model's folder"},
      {"absolute", Code::bad_model, "points outside the model's folder"},
      {"magic", Code::bad_model, "points outside the model's folder"},
      {"up/secret.bin", Code::bad_model, "points outside the model's folder"},
      {"up/model/w.bin", Code::bad_model, "points outside the model's folder"},
      {"loop", Code::bad_model, "symbolic link"},
      {"sub", Code::bad_input, "is a directory"},
      {"pipe", Code::bad_input, "not a regular file"},
      {"socket", Code::bad_input, "'socket': cannot open it"},
      {"missing", Code::bad_input, "No such file"},
      {"w.bin/x", Code::bad_input, "Not a directory"},
      {std::string(300, 'n'), Code::bad_input, "too long"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.location);
    expect_fault(load(model_with(at(c.location))), c.code, {"tensor 'w'", c.says});
  }
  ::close(socket);
}

TEST_F(External, HardLinksAreRefused) {
  fs::create_hard_link(root_ / "secret.bin", folder() / "twin.bin");
  expect_fault(load(model_with(at("twin.bin"))), Code::bad_model,
               {"tensor 'w'", "'twin.bin'", "2 hard links", "replace it by a copy"});
  fs::remove(root_ / "secret.bin");
  EXPECT_TRUE(identical(weight(imported(load(model_with(at("twin.bin"))))), kTwoThree));
}

/// Without openat2 links are not followed.
TEST_F(External, WithoutFollowingLinks) {
  ExternalFiles files(folder().string(), ExternalFiles::Links::none);
  for (const std::string location : {"w.bin", "./sub/w.bin"}) {
    const auto loaded = files.load({.location = location, .offset = 4, .length = 8, .checksum = {}});
    EXPECT_TRUE(loaded.has_value()) << loaded.error().text();
  }
  for (const std::string location : {"inside", "down/w.bin", "outside", "absolute", "magic", "up/secret.bin", "loop"}) {
    const auto loaded = files.load({.location = location, .offset = 4, .length = 8, .checksum = {}});
    EXPECT_FALSE(loaded.has_value()) << location;
  }
}

/// A file is opened once; later changes of the directory entry have no effect.
TEST_F(External, IsOpenedOnce) {
  ExternalFiles files(folder().string());
  const ExternalRef ref{.location = "w.bin", .offset = 4, .length = 8, .checksum = {}};
  const auto first = files.load(ref).value();
  fs::remove(folder() / "w.bin");
  fs::create_symlink("../secret.bin", folder() / "w.bin");
  const auto again = files.load({.location = "./w.bin", .offset = 4, .length = 8, .checksum = {}}).value();
  EXPECT_EQ(first.bytes.data(), again.bytes.data());
}

TEST_F(External, ChecksTheRange) {
  struct Case {
    Entries entries;
    std::vector<std::string> says;
  };
  const Case cases[] = {
      {{{"location", "w.bin"}, {"location", "w.bin"}}, {"'location' is given twice"}},
      {at("w.bin", "8"), {"'w.bin'", "8 bytes at offset 8", "12"}},
      {at("w.bin", "13"), {"8 bytes at offset 13", "12"}},
      {at("w.bin", "18446744073709551615"), {"8 bytes at offset 18446744073709551615"}},
      {at("w.bin", "18446744073709551616"), {"'offset' is not a number"}},
      {at("w.bin", "0", "12"), {"takes 8 bytes", "12"}},
      {at("w.bin", "0", "0"), {"takes 8 bytes", "0"}},
      {{{"location", "w.bin"}, {"offset", "8"}}, {"8 bytes at offset 8"}},
  };
  for (const Case& c : cases) {
    const auto result = load(model_with(c.entries));
    ASSERT_FALSE(result.has_value()) << c.says[0];
    EXPECT_EQ(result.error().code, Code::bad_model);
    for (const std::string& part : c.says) EXPECT_THAT(result.error().text(), testing::HasSubstr(part));
  }
}

TEST_F(External, EmptyTensors) {
  std::ofstream(folder() / "empty.bin");
  const std::pair<std::string, std::string> cases[] = {{"empty.bin", "0"}, {"w.bin", "12"}, {"w.bin", "5"}};
  for (const auto& [location, offset] : cases) {
    const Message w = external("w", at(location, offset, "0"), 0);
    const Graph g =
        imported(load(model(graph({.nodes = {}, .inputs = {}, .outputs = {value("w")}, .initializers = {w}}))));
    EXPECT_EQ(output_type(g), "f32[0]") << location;
  }
}

TEST_F(External, ManyTensorsAndFiles) {
  std::vector<std::pair<std::string, Message>> weights;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    const auto f = static_cast<float>(i);
    write(folder() / ("w" + n), {f, f + 1, f + 2});
    weights.emplace_back("a" + n, external("a" + n, at("w" + n, "0")));
    weights.emplace_back("b" + n, external("b" + n, at("w" + n, "4")));
  }
  const Graph g = imported(load(model(graph(adding(weights)))));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto f = static_cast<float>(i / 2 + i % 2);
    EXPECT_TRUE(identical(weight(g, i), Tensor::of<float>({2}, {f, f + 1}))) << i;
  }
}

TEST_F(External, MisalignedOffsets) {
  std::vector<float> numbers(2048);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  for (const std::size_t pad : {1u, 2u, 3u}) {
    std::ofstream out(folder() / "odd.bin", std::ios::binary);
    out << std::string(pad, 'x');
    out.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * 4));
    out.close();
    const Message w = external("w", {{"location", "odd.bin"}, {"offset", std::to_string(pad)}}, 2048);
    const Graph g =
        imported(load(model(graph({.nodes = {}, .inputs = {}, .outputs = {value("w")}, .initializers = {w}}))));
    EXPECT_EQ(g.constant(g.main().results[0])->tensor.number_at(2047), 2047.0) << pad;
  }
}

/// Sets the size of a sparse file; false if the file system does not support it.
bool make_hole(const fs::path& path, std::uint64_t size) {
  std::ofstream(path, std::ios::binary);
  return ::truncate(path.c_str(), static_cast<off_t>(size)) == 0;
}

TEST_F(External, OffsetsPastFourGigabytes) {
  constexpr std::uint64_t kOffset = (std::uint64_t{5} << 30) + 4;
  if (!make_hole(folder() / "large.bin", kOffset)) GTEST_SKIP() << "no room for a sparse file in " << folder();
  const float numbers[] = {2, 3};
  std::ofstream(folder() / "large.bin", std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(numbers), sizeof numbers);
  const Graph g = imported(load(model_with(at("large.bin", std::to_string(kOffset)))));
  EXPECT_TRUE(identical(weight(g), kTwoThree));
}

// ---- checksums ----

TEST_F(External, Checksums) {
  std::string sum = sha1(MappedFile::open((folder() / "w.bin").string()).value()->bytes());
  const auto with_sum = [&](const std::string& checksum) {
    Entries entries = at("w.bin");
    entries.emplace_back("checksum", checksum);
    return load(model_with(entries));
  };
  EXPECT_TRUE(identical(weight(imported(with_sum(sum))), kTwoThree));
  std::string upper = sum;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_TRUE(with_sum(upper).has_value());
  const std::string other(40, '0');
  expect_fault(with_sum(other), Code::bad_model, {"tensor 'w'", "'w.bin'", sum, other});
  for (const std::string& bad : {std::string("abc"), sum + "0", std::string(40, 'g')}) {
    expect_fault(with_sum(bad), Code::bad_model, {"tensor 'w'", "'" + bad + "' is not a SHA-1 checksum"});
  }
}

// ---- where tensors may stand ----

TEST_F(External, InBranchesFunctionsAndConstants) {
  const Message far = text(attribute("value", 4), 5, external("", at("w.bin")));
  const NodeSpec constant{"Constant", {}, {"w"}, {far}};
  const Message branch =
      graph({.nodes = {constant, {"Add", {"x", "w"}, {"r"}}}, .inputs = {}, .outputs = {value("r")}});
  const Message other = graph({.nodes = {{"Add", {"x", "v"}, {"r"}}},
                               .inputs = {},
                               .outputs = {value("r")},
                               .initializers = {external("v", at("sub/w.bin"))}});
  const FunctionSpec add{.name = "add",
                         .inputs = {"a"},
                         .outputs = {"r"},
                         .attributes = {},
                         .nodes = {constant, {"Add", {"a", "w"}, {"r"}}}};
  const GraphSpec spec{
      .nodes = {{"If", {"c"}, {"y"}, {graph_attr("then_branch", branch), graph_attr("else_branch", other)}},
                {"add", {"y"}, {"z"}, {}, "", "local"}},
      .inputs = {value("c", tensor_type(Elem::boolean, {})), f32("x", {"2"})},
      .outputs = {value("z")}};
  const Graph g = imported(load(model(graph(spec), {.functions = {add}})));
  ASSERT_EQ(op_names(g), "If Add");
  EXPECT_TRUE(identical(weight(g, 1), kTwoThree));
  for (const BlockId block : node_at(g, 0).blocks) {
    EXPECT_TRUE(identical(g.constant(node_at(g, 0, block).in[1])->tensor, kTwoThree));
  }
}

TEST_F(External, NeedsAFolder) {
  expect_fault(import(model_with(at("w.bin"))), Code::bad_input, {"tensor 'w'", "'w.bin'", "without a folder"});
}

// ---- model files past 2 GiB ----

Message length_head(unsigned field, std::uint64_t size) {
  Message head;
  protozero::write_varint(std::back_inserter(head), std::uint64_t{field} << 3 | 2);
  protozero::write_varint(std::back_inserter(head), size);
  return head;
}

/// A model with one weight that is a hole of `count` bytes in the model file.
Message large_model_before(std::uint64_t count) {
  const Message tensor =
      text(number(number({}, 1, static_cast<std::int64_t>(count)), 2, 3), 8, "hole") + length_head(9, count);
  const Message rest = graph({.nodes = {{"Add", {"x", "w"}, {"z"}}},
                              .inputs = {f32("x", {"2"})},
                              .outputs = {value("z"), value("hole")},
                              .initializers = {initializer("w", kTwoThree)}});
  const Message last = rest + length_head(5, tensor.size() + count) + tensor;
  const Message head = text(number({}, 1, 10), 8, opset("", 21));
  return head + length_head(7, last.size() + count) + last;
}

TEST_F(External, ModelsPastTwoAndFourGigabytes) {
  for (const std::uint64_t count : {(std::uint64_t{2} << 30) + 7, (std::uint64_t{4} << 30) + 7}) {
    const fs::path path = folder() / "large.onnx";
    const Message before = large_model_before(count);
    if (!make_hole(path, before.size() + count)) GTEST_SKIP() << "no room for a sparse file in " << folder();
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << before;
    const Graph g = imported(import_onnx(path.string()));
    EXPECT_TRUE(identical(weight(g), kTwoThree));
    ASSERT_EQ(g.main().results.size(), 2u);
    const Tensor& hole = g.constant(g.main().results[1])->tensor;
    EXPECT_EQ(hole.bytes(), count);
    EXPECT_FALSE(hole.buffer().writable()) << "copied";
    EXPECT_EQ(hole.integer_at(static_cast<std::int64_t>(count) - 1), 0);
    fs::remove(path);
  }
}

// ---- models kept outside the repository ----

void import_all(const fs::path& folder) {
  if (!fs::exists(folder)) GTEST_SKIP() << kNoShared;
  link_operators();
  for (const auto& e : fs::recursive_directory_iterator(folder)) {
    if (e.path().extension() != ".onnx") continue;
    const auto result = import_onnx(e.path().string());
    EXPECT_TRUE(result.has_value()) << e.path() << ": " << result.error().text();
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
