// ONNX's own cases on every tier: unchanged, after a round trip through the exporter, and with their nodes in a
// subgraph.
#include "onnx_cases.h"

#include <algorithm>

#include "base/os/io.h"
#include "ir/text/text.h"
#include "onnx/export/export.h"
#include "suite/tiers.h"
#include "wrap_model.h"

namespace frazil::test {
namespace {

namespace fs = std::filesystem;

struct KnownFailure {
  std::string_view part, reason;  ///< of the case's name; of the message
};
constexpr std::string_view kRandom = "elements differ";  // numbers of another generator
/// A case that passes must be removed from this list.
constexpr KnownFailure kKnownFailures[] = {
    {"test_bernoulli", kRandom},
    {"test_gradient_of", "no operator 'Gradient'"},
};

struct OldCase {
  KnownFailure failure;
  std::string_view why;
};
constexpr std::string_view kBf16AsU16 = "bf16 is stored as uint16, for want of a type in numpy";
/// Cases of ONNX 1.12, Debian's libonnx-testdata, that are wrong by today's standard. ONNX has mended each since.
constexpr OldCase kOfDebian[] = {
    {{"test_adam_multiple", "elements differ"},
     "the model lacks the attribute 'epsilon' that its outputs were made with"},
    {{"test_dft_inverse", "elements differ"}, "the outputs are of f64, with zeros that f32 cannot reach"},
    {{"test_cast_FLOAT_to_BFLOAT16", "got bf16[3,4], expected u16[3,4]"}, kBf16AsU16},
    {{"test_cast_BFLOAT16_to_FLOAT", "got u16[3,4]"}, kBf16AsU16},
    {{"test_castlike_FLOAT_to_BFLOAT16", "got u16[1]"}, kBf16AsU16},
    {{"test_castlike_BFLOAT16_to_FLOAT", "got u16[3,4]"}, kBf16AsU16},
};

bool names(const KnownFailure& failure, std::string_view name) { return name.starts_with(failure.part); }

const KnownFailure* known_failure(std::string_view name, const fs::path& folder) {
  for (const KnownFailure& k : kKnownFailures) {
    if (names(k, name)) return &k;
  }
  for (const OldCase& old : kOfDebian) {
    if (folder == kDebianCases && names(old.failure, name)) return &old.failure;
  }
  return nullptr;
}

struct Way {
  std::string name;
  Wrap wrap = Wrap::none;
  bool exported = false;
  bool reference = false;
  PassSet passes = {};
  bool each_pass = false;  ///< without each pass that changed the graph, one at a time
};

Result<Graph> read_back(std::string model) {
  const auto kept = std::make_shared<const std::string>(std::move(model));
  return import_onnx_bytes(std::as_bytes(std::span(*kept)), kept);
}

/// Hashes identify large weights by address, so these are compared here.
bool same_graph(const Graph& a, const Graph& b) {
  if (structural_hash(a) == structural_hash(b)) return true;
  const auto same_weight = [](const auto& x, const auto& y) {
    return x.first == y.first && !difference(Datum(x.second), Datum(y.second), {.rtol = 0, .atol = 0});
  };
  return print(a) == print(b) && std::ranges::equal(weights_of(a), weights_of(b), same_weight);
}

Result<std::shared_ptr<const Graph>> graph_of_folder(const fs::path& folder, const Way& way) {
  FRAZIL_TRY(const auto file, MappedFile::open((folder / "model.onnx").string()));
  FRAZIL_TRY(std::string model, wrapped(file->bytes(), way.wrap));
  FRAZIL_TRY(Graph graph, read_back(std::move(model)));
  if (!way.exported) return std::make_shared<const Graph>(std::move(graph));
  FRAZIL_TRY(std::string written, onnx::export_model(graph));
  FRAZIL_TRY(Graph again, read_back(std::move(written)));
  if (!same_graph(graph, again)) {
    return fail(Code::internal, "the graph changed on its way through a file:\n{}\n{}", print(graph), print(again));
  }
  return std::make_shared<const Graph>(std::move(again));
}

class Cases : public testing::TestWithParam<Way> {
 protected:
  /// Runs all cases of a folder; returns their number.
  std::size_t run(const fs::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (fs::exists(entry.path() / "model.onnx") && run_case(entry.path(), folder)) ++count;
    }
    fmt::print("{} cases of {}\n", count, folder.string());
    return count;
  }

 private:
  bool run_case(const fs::path& folder, const fs::path& all) {
    const std::string name = folder.filename().string();
    const KnownFailure* known = known_failure(name, all);
    if (known != nullptr && GetParam().each_pass) return false;
    const Status status = outcome(folder);
    if (!status && status.error().text() == "only tensors are scan outputs") return false;
    if (known == nullptr) {
      EXPECT_TRUE(status) << name << ": " << status.error().text();
    } else if (status) {
      ADD_FAILURE() << name << " passes: take it off the list of known failures";
    } else {
      EXPECT_NE(status.error().text().find(known->reason), std::string::npos) << status.error().text();
    }
    return true;
  }

  static Status outcome(const fs::path& folder) {
    FRAZIL_TRY(const auto graph, graph_of_folder(folder, GetParam()));
    if (GetParam().each_pass) return without_each_pass(folder, graph);
    return run_data_sets(folder, graph, {.reference = GetParam().reference, .passes = GetParam().passes});
  }

  static Status without_each_pass(const fs::path& folder, const std::shared_ptr<const Graph>& graph) {
    FRAZIL_TRY(const auto executable, Executable::make(graph));
    for (const PassSet set : sets_without_a_pass(*executable)) {
      if (Status status = run_data_sets(folder, graph, {.passes = set}); !status) {
        return within("passes " + str(set) + ": ", std::move(status).error());
      }
    }
    return {};
  }
};

TEST_P(Cases, OfSingleOperators) {
  link_operators();
  const fs::path folder = node_cases();
  if (folder.empty()) GTEST_SKIP() << "needs libonnx-testdata";
  EXPECT_GT(run(folder), 200u);
}

TEST(OldCases, AreThere) {
  if (!fs::exists(kDebianCases)) GTEST_SKIP() << "needs libonnx-testdata";
  for (const auto& [failure, why] : kOfDebian) {
    const auto has_name = [&](const auto& entry) { return names(failure, entry.path().filename().string()); };
    EXPECT_TRUE(std::ranges::any_of(fs::directory_iterator(kDebianCases), has_name)) << failure.part << ": " << why;
  }
}

/// True for combinations that take minutes: large models with the reference executor's naive loops, and all but two
/// under sanitizers.
bool is_slow(const Way& way) {
  if (every_sweep()) return false;
#if defined(FRAZIL_SANITIZED)
  return way.name != "AsWritten" && way.name != "AsWrittenWithoutPasses";
#else
  return way.reference;
#endif
}

TEST_P(Cases, OfSmallModels) {
  link_operators();
  for (const char* name : {"simple", "pytorch-operator", "pytorch-converted", "light"}) {
    if (name == std::string_view("light") && is_slow(GetParam())) continue;
    const fs::path folder = shared_dir() / "onnx-tests" / name;
    FRAZIL_NEEDS(folder);
    EXPECT_GT(run(folder), 5u) << name;
  }
}

const Way kWays[] = {
    {.name = "AsWritten"},
    {.name = "AsWrittenOnTheReference", .reference = true},
    {.name = "AsWrittenWithoutPasses", .passes = PassSet::none()},
    {.name = "AsWrittenWithoutEachPass", .each_pass = true},
    {.name = "Exported", .exported = true},
    {.name = "ExportedOnTheReference", .exported = true, .reference = true},
    {.name = "InABranch", .wrap = Wrap::then_branch},
    {.name = "InABranchOnTheReference", .wrap = Wrap::then_branch, .reference = true},
    {.name = "InALoop", .wrap = Wrap::loop_body},
    {.name = "InALoopWithoutPasses", .wrap = Wrap::loop_body, .passes = PassSet::none()},
    {.name = "InALoopOnTheReference", .wrap = Wrap::loop_body, .reference = true},
    {.name = "WithSymbols", .wrap = Wrap::symbols},
    {.name = "WithSymbolsOnTheReference", .wrap = Wrap::symbols, .reference = true},
};

INSTANTIATE_TEST_SUITE_P(Onnx, Cases, testing::ValuesIn(kWays), [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace frazil::test
