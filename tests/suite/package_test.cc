// Packages: what they hold, what runs of them give, and which are refused.
#include "exec/package/package.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "code/weights/weight_store.h"
#include "kernel/on_isa.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Packages : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "frazil-package-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
    file_ = (folder_ / "model.frzc").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Writes a package of a product, after a run where the kernel has packed its weight; the run's results.
  std::vector<Datum> write() {
    const Graph graph = graph_of(R"(weight @w: f32[40,48]
graph g(%x: f32[N,40]) {
  %p = MatMul(%x, @w)
  %y = Relu(%p)
  return y = %y
})",
                                 [](std::string_view) { return uneven({40, 48}); });
    const auto model = Executable::make(std::make_shared<const Graph>(graph)).value();
    const auto packed = std::make_shared<const Graph>(exec::graph_of_package(*model).value());
    const auto executable = Executable::make(packed, {.passes = exec::passes_of_package(*packed)}).value();
    auto results = executable->open()->run(std::vector<Datum>{Datum(uneven({3, 40}, 5))}).value();
    EXPECT_TRUE(exec::write_package(file_, *executable, {"x=3x40"}));
    return results;
  }
  std::string bytes() const {
    std::ifstream file(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
  std::string file_;
};

TEST_F(Packages, RunAsTheModelDid) {
  const auto want = write();
  const auto package = exec::open_package(file_).value();
  EXPECT_EQ(package.shapes, std::vector<std::string>{"x=3x40"});
  EXPECT_TRUE(exec::packaged_choices(package.graph));
  const auto executable = Executable::make(std::make_shared<const Graph>(package.graph)).value();
  const auto packed_before = code::WeightStore::global().packed_count();
  const auto got = executable->open()->run(std::vector<Datum>{Datum(uneven({3, 40}, 5))}).value();
  expect_equal(executable->graph(), got, want, kExact);
  EXPECT_EQ(code::WeightStore::global().packed_count(), packed_before) << "the packed form is in the file";
}

/// A side whose result has another rank has a plan of its own, made when the package is loaded.
TEST_F(Packages, TellWhichBranchesWereTaken) {
  const auto written = [&] {
    const Graph graph = graph_of(R"(weight @w: f32[40]
graph g(%x: f32[N,40]) {
  %s = Mul(%x, @w)
  %shape = Shape(%x)
  %n = Gather(%shape, i64[] 0)
  %small = Less(%n, i64[] 2)
  %r = If(%small) then_branch() {
    %flat = Reshape(%s, i64[1] [-1])
    yield %flat
  } else_branch() {
    yield %s
  }
  %y = Exp(%r)
  return y = %y
})",
                                 [](std::string_view) { return uneven({40}); });
    const auto model = Executable::make(std::make_shared<const Graph>(graph)).value();
    const auto packed = std::make_shared<const Graph>(exec::graph_of_package(*model).value());
    const auto executable = Executable::make(packed, {.passes = exec::passes_of_package(*packed)}).value();
    const auto session = executable->open();
    const auto results = session->run(in_order(*packed, {{"x", uneven({3, 40})}})).value();
    EXPECT_EQ(executable->specialised().size(), 1U);
    EXPECT_TRUE(exec::write_package(file_, *executable, {}));
    return results;
  };
  const auto want = written();
  const auto package = exec::open_package(file_).value();
  const auto executable = Executable::make(std::make_shared<const Graph>(package.graph)).value();
  ASSERT_EQ(executable->specialised().size(), 1U);
  const auto got = executable->open()->run(in_order(package.graph, {{"x", uneven({3, 40})}})).value();
  expect_equal(package.graph, got, want, kExact);
}

TEST_F(Packages, DamagedOnesAreRefused) {
  write();
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 37 + 1) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    const auto opened = exec::open_package(file_);
    ASSERT_FALSE(opened) << size << " bytes";
    EXPECT_EQ(opened.error().code, Code::bad_input);
  }
  const std::size_t index_end = 17 + 16 + 64 + std::stoul(whole.substr(17, 16), nullptr, 16);
  for (std::size_t i = 17; i < index_end; ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << flipped;
    EXPECT_FALSE(exec::open_package(file_)) << "byte " << i;
  }
}

TEST_F(Packages, OfOtherInstructionsAreRefused) {
  const kernel::RestoreFeatures restore;
  if (kernel::features().isa == Isa::base) GTEST_SKIP() << "there are no others";
  write();
  kernel::force_features(CpuFeatures::all_of(Isa::base));
  const auto opened = exec::open_package(file_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::unsupported);
  EXPECT_THAT(opened.error().text(), HasSubstr("compile the model here"));
}

}  // namespace
}  // namespace frazil::test
