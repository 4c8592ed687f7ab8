// A graph that was stored gives the bits of the graph itself: as text, as an ONNX model and as a package. What passes
// recognise may not depend on it.
#include <filesystem>
#include <map>

#include "base/os/io.h"
#include "exec/package/package.h"
#include "ir/frz.h"
#include "onnx/export/export.h"
#include "suite/onnx_cases.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

namespace fs = std::filesystem;

Result<Graph> through_text(const Graph& graph, const std::string&) {
  const auto weights = weights_of(graph);
  return parse(print(graph), [&](std::string_view name) {
    const auto at = weights.find(name);
    return at == weights.end() ? Tensor() : at->second;
  });
}

Result<Graph> through_model(const Graph& graph, const std::string&) {
  FRAZIL_TRY(std::string model, onnx::export_model(graph));
  const auto kept = std::make_shared<const std::string>(std::move(model));
  return import_onnx_bytes(std::as_bytes(std::span(*kept)), kept);
}

Result<Graph> through_package(const Graph& graph, const std::string& file) {
  FRAZIL_TRY(const auto model, Executable::make(std::make_shared<const Graph>(graph)));
  FRAZIL_TRY(Graph made, exec::graph_of_package(*model));
  const auto ready = std::make_shared<const Graph>(std::move(made));
  FRAZIL_TRY(const auto packed, Executable::make(ready, {.passes = exec::passes_of_package(*ready)}));
  FRAZIL_CHECK(exec::write_package(file, *packed, {}));
  FRAZIL_TRY(auto package, exec::open_package(file));
  return std::move(package.graph);
}

struct StoredForm {
  std::string_view name;
  Result<Graph> (*stored)(const Graph& graph, const std::string& file);
  bool whole_types = true;  ///< it holds extents that are expressions, which requests are checked against
};
constexpr StoredForm kStoredForms[] = {
    {"Text", through_text}, {"Model", through_model, false}, {"Package", through_package}};

/// Where only one of two runs fails, or the bits differ.
std::optional<std::string> other_outcome(const Graph& graph, const Result<std::vector<Datum>>& got,
                                         const Result<std::vector<Datum>>& want) {
  if (!got || !want) {
    if (got.has_value() == want.has_value() && got.error().code == want.error().code) return std::nullopt;
    return fmt::format("{}, not {}", got ? "no error" : got.error().text(), want ? "none" : want.error().text());
  }
  for (std::size_t i = 0; i < want->size(); ++i) {
    const auto what = difference((*got)[i], (*want)[i], kExact);
    if (what) return fmt::format("output '{}': {}", graph.output_names()[i], *what);
  }
  return std::nullopt;
}

class Stored : public ::testing::TestWithParam<StoredForm> {
 protected:
  void SetUp() override {
    link_operators();
    std::string path = (fs::temp_directory_path() / "frazil-stored-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Compares runs of the stored graph with runs of the graph itself. Some forms cannot hold some graphs.
  void expect_same_bits(const Graph& graph, const std::vector<std::vector<Datum>>& requests) {
    const auto own = Executable::make(std::make_shared<const Graph>(graph));
    auto stored = GetParam().stored(graph, (folder_ / fmt::format("{}.frzc", stored_)).string());
    if (!own || !stored) {
      if (own) ++refused_;
      return;
    }
    const auto other = Executable::make(std::make_shared<const Graph>(*std::move(stored)));
    ASSERT_TRUE(other) << other.error().text();
    const auto session = (*own)->open(), beside = (*other)->open();
    for (const auto& inputs : requests) {
      const auto want = session->run(inputs), got = beside->run(inputs);
      if (!want && !GetParam().whole_types) continue;
      if (const auto what = other_outcome(graph, got, want)) ADD_FAILURE() << *what << "\n" << print(graph);
    }
    ++stored_;
  }

  fs::path folder_;
  std::size_t stored_ = 0, refused_ = 0;  ///< graphs
};

TEST_P(Stored, TextCasesGiveTheSameBits) {
  for (const char* folder : {"ir", "suite"}) {
    for (const FrzCase& c : read_frz_folder(source_dir() / "tests" / folder).value()) {
      if (c.runs.empty() || c.error) continue;
      SCOPED_TRACE(fmt::format("{}:{}: {}", c.file, c.line, c.name));
      const Graph graph = graph_of(c.text);
      std::vector<std::vector<Datum>> requests;
      for (const FrzRun& run : c.runs) requests.push_back(in_order(graph, run.inputs));
      expect_same_bits(graph, requests);
    }
  }
  EXPECT_GT(stored_, 500U);
  EXPECT_LT(refused_, stored_ / 10);
}

TEST_P(Stored, OperatorsGiveTheSameBits) {
  const fs::path folder = node_cases();
  if (folder.empty()) GTEST_SKIP() << "needs libonnx-testdata";
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto graph = import_onnx((entry.path() / "model.onnx").string());
    if (!graph) continue;
    std::vector<std::vector<Datum>> requests;
    for (const auto& set : fs::directory_iterator(entry.path())) {
      if (!set.is_directory()) continue;
      if (auto inputs = read_set(set.path(), "input", *graph, graph->main().params)) requests.push_back(*inputs);
    }
    expect_same_bits(*graph, requests);
  }
  EXPECT_GT(stored_, 200U);
}

/// What is recovered before composites are replaced by their bodies must not be recovered again from these bodies: with
/// weights that are literals of the text and with larger ones.
TEST_P(Stored, NormsGiveTheSameBits) {
  constexpr std::string_view kNorms[] = {
      "InstanceNormalization(%x, @s, @b) {epsilon = 0.01}",
      "GroupNormalization(%x, @s, @b) {num_groups = 2, epsilon = 0.01}",
      "LayerNormalization(%x, @l, @m) {epsilon = 0.01}",
      "RMSNormalization(%x, @l) {epsilon = 0.01}",
      "MeanVarianceNormalization(%x) {axes = [0, 2]}",
      "LpNormalization(%x) {axis = 1}",
      "LogSoftmax(%x) {axis = -1}",
      "Gelu(%x)",
      "Mish(%x)",
      "Attention(%x, %x, %x) {q_num_heads = 1, kv_num_heads = 1}",
  };
  for (const auto& [channels, length] : {std::pair<std::int64_t, std::int64_t>{4, 5}, {64, 100}}) {
    for (const std::string_view norm : kNorms) {
      SCOPED_TRACE(fmt::format("{} of [N,{},{}]", norm, channels, length));
      std::string head;
      for (const auto& [name, extent] : {std::pair{'s', channels}, {'b', channels}, {'l', length}, {'m', length}}) {
        if (norm.find(fmt::format("@{}", name)) != norm.npos)
          head += fmt::format("weight @{}: f32[{}]\n", name, extent);
      }
      const Graph graph = graph_of(
          fmt::format("{}graph g(%x: f32[N,{},{}]) {{\n  %y = {}\n  return y = %y\n}}", head, channels, length, norm),
          [&](std::string_view name) { return uneven({name == "s" || name == "b" ? channels : length}, name[0]); });
      expect_same_bits(graph, {{Datum(uneven({30, channels, length}, 3))}});
    }
  }
  EXPECT_EQ(refused_, 0U);
}

/// The side of an If that later runs take has a plan of its own, from the same passes.
TEST_P(Stored, SidesOfOtherRanksGiveTheSameBits) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N,6], %flat: bool[]) {
  %r = If(%flat) then_branch() {
    %a = Reshape(%x, i64[1] -1)
    yield %a
  } else_branch() {
    yield %x
  }
  %m = ReduceMean(%r, i64[1] -1)
  %d = Sub(%r, %m)
  %q = Mul(%d, %d)
  %v = ReduceMean(%q, i64[1] -1)
  %e = Add(%v, f32[] 0.01)
  %s = Sqrt(%e)
  %y = Div(%d, %s)
  return y = %y
})");
  std::vector<std::vector<Datum>> requests;
  for (const bool flat : {false, true, false}) {
    requests.push_back(in_order(graph, fmt::format("%flat = bool[] {}", flat)));
    requests.back()[0] = Datum(uneven({7, 6}, flat ? 5 : 3, 100));
  }
  expect_same_bits(graph, requests);
}

INSTANTIATE_TEST_SUITE_P(Forms, Stored, ::testing::ValuesIn(kStoredForms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace frazil::test
