// Spaces given by attributes join fused steps, get kernels, and go through ONNX files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "ops/generic/generic_attrs.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

using ::testing::HasSubstr;

/// The kernels that a graph's plan launches, in order; of a fused one its body.
std::vector<std::string> launches(const Plan& plan) {
  std::vector<std::string> kernels;
  for (const Step& step : plan.steps) {
    const auto* launch = step.as<step::Launch>();
    if (launch == nullptr) continue;
    std::string body;
    if (launch->fused != kNone) {
      for (const FusedIns& ins : plan.fused[launch->fused]->body) {
        body += fmt::format(" {}", ins.row != RowOp::none ? name_of(ins.row) : name_of(ins.scalar.op));
      }
    }
    kernels.push_back(fmt::format("{}{}", name_of(*plan.kernel_of(step)), body));
  }
  return kernels;
}

struct Chain {
  std::string_view what, graph, inputs;
  std::vector<std::string> kernels;
};

const Chain kChains[] = {
    {"a map between elementwise nodes",
     R"(graph g(%x: f32[N,4], %z: f32[4]) {
       %a = Exp(%x)
       %b = frazil::Generic(%a, %z) {space = ["i", "j"], reads = ["i, j", "j"], write = "i, j",
         body = ["f32 load 0", "f32 load 1", "f32 mul %0 %1"]}
       %c = Add(%b, f32[4] [1, -2, 3, -4])
       %y = Relu(%c)
       return y = %y })",
     "%x = f32[2,4] [1, 2, 3, 4, -1, 0, 2, 1], %z = f32[4] [1, -1, 2, 0.5]",
     {"fused load exp load mul load add constant max"}},
    {"a map of a transposed operand",
     R"(graph g(%x: f32[N,4], %z: f32[4,N]) {
       %b = frazil::Generic(%x, %z) {space = ["i", "j"], reads = ["i, j", "j, i"], write = "i, j",
         body = ["f32 load 0", "f32 load 1", "f32 sub %0 %1"]}
       %y = Relu(%b)
       return y = %y })",
     "%x = f32[1,4] [1, 2, 3, 4], %z = f32[4,1] [1, -1, 2, 0.5]",
     {"fused load load sub constant max"}},
    {"a fold of the last axis",
     R"(graph g(%x: f32[N,16], %z: f32[16]) {
       %a = Add(%x, %z)
       %b = frazil::Generic(%a, %z) {space = ["i", "k"], reduce = ["k"], reads = ["i, k", "k"], write = "i, _",
         body = ["f32 load 0", "f32 load 1", "f32 mul %0 %1"]}
       %y = Relu(%b)
       return y = %y })",
     "%x = f32[2,16] 0.5, %z = f32[16] 0.25",
     {"fused load load add mul sum constant max"}},
};

TEST(Generic, SharesAStep) {
  for (const Chain& c : kChains) {
    SCOPED_TRACE(c.what);
    const Graph graph = graph_of(c.graph);
    const auto made = Executable::make(std::make_shared<const Graph>(graph));
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(launches((*made)->plan()), c.kernels) << (*made)->plan().str();
    EXPECT_TRUE(run_tiers(graph, c.inputs));
  }
}

TEST(Generic, SumsOfProductsAreMatrixProducts) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N,3], %w: f32[2,3], %b: f32[2]) {
    %a = frazil::Generic(%x, %w) {space = ["i", "j", "k"], reduce = ["k"], reads = ["i, k", "j, k"], write = "i, j",
      body = ["f32 load 0", "f32 load 1", "f32 mul %0 %1"]}
    %c = Add(%a, %b)
    %y = Relu(%c)
    return y = %y })");
  const auto made = Executable::make(std::make_shared<const Graph>(graph));
  ASSERT_TRUE(made) << made.error().text();
  const auto kernels = launches((*made)->plan());
  ASSERT_EQ(kernels.size(), 1u) << (*made)->plan().str();
  EXPECT_THAT(kernels[0], HasSubstr("matmul")) << (*made)->plan().str();
  EXPECT_TRUE(
      run_tiers(graph, "%x = f32[2,3] [1, 2, 3, 4, 5, 6], %w = f32[2,3] [1, 0, -1, 2, -3, 1], %b = f32[2] [1, 2]"));
}

TEST(Generic, GoesThroughAnOnnxFile) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N,3], %z: f32[3]) {
    %a: f32[N,3] = frazil::Generic(%x, %z) {space = ["i", "j"], reads = ["i, j", "j"], write = "i, j", body = ["f32 load 0", "f32 load 1", "f32 mul %0 %1"]} "product"
    %b: f32[3,N] = frazil::GenericView(%a) {shape = ["d0_1", "d0_0"], axes = [1, 0]} "turned"
    %c: f32[3,N] = frazil::GenericMap(%b) {body = ["f32 load 0", "f32 neg %0"]} "minus"
    %e: i64[1] = frazil::Extents(%x) {values = ["2*d0_0"], sizes = [1]} "twice"
    return c = %c, e = %e })");
  const auto model = onnx::export_model(graph);
  ASSERT_TRUE(model) << model.error().text();
  const auto kept = std::make_shared<const std::string>(*model);
  const auto again = import_onnx_bytes(std::as_bytes(std::span(*kept)), kept);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(print(*again), print(graph));
}

TEST(Generic, SpacesAreBounded) {
  std::string axes;
  for (int a = 0; a < 65; ++a) axes += fmt::format("{}\"a{} = 1\"", a == 0 ? "" : ", ", a);
  const auto many =
      parse(fmt::format("graph g(%x: f32[]) {{ %y = frazil::Generic(%x) {{space = [{}], reads = [\"\"], write = \"\", "
                        "body = [\"f32 load 0\"]}} "
                        "return y = %y }}",
                        axes));
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().text(), HasSubstr("attribute 'space': 65 axes, at most 64 are taken"));
  std::string body = "\"f32 load 0\"";
  for (int i = 0; i < 1024; ++i) body += fmt::format(", \"f32 neg %{}\"", i);
  const auto deep =
      parse(fmt::format("graph g(%x: f32[]) {{ %y = frazil::GenericMap(%x) {{body = [{}]}} return y = %y }}", body));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().text(), HasSubstr("attribute 'body': 1025 instructions, at most 1024 are taken"));
}

// ---- the texts of attributes ----

template <class T>
std::string read_and_printed(std::string_view text) {
  const auto value = T::parse(text);
  return value ? value->text() : "error: " + value.error().text();
}

TEST(GenericTexts, AreReadAndPrinted) {
  using namespace ops;
  for (const char* text : {"i", "2*i + j - 1", "-i + {d0_1 - 2}*j - {v1_0}", "3", "i - 2*j"}) {
    EXPECT_EQ(read_and_printed<IndexExpr>(text), text);
  }
  for (const char* text : {"-", "", "i", "i - 1, {min(d0_1, 2)}*j, 0"})
    EXPECT_EQ(read_and_printed<ReadExpr>(text), text);
  for (const char* text : {"i", "j = floordiv(d0_1 - 3, 2) + 1"}) EXPECT_EQ(read_and_printed<AxisDecl>(text), text);
  for (const char* text : {"", "i", "i, _, k"}) EXPECT_EQ(read_and_printed<AxisNames>(text), text);
  EXPECT_EQ(read_and_printed<ExtentCheck>("d0_1 == 2*d1_0: inner extents"), "d0_1 == 2*d1_0: inner extents");
  EXPECT_EQ(read_and_printed<IndexExpr>(" 2 * i+j -1"), "2*i + j - 1");
}

TEST(GenericTexts, AreRefusedWithAReason) {
  using namespace ops;
  EXPECT_THAT(read_and_printed<IndexExpr>("i j"), HasSubstr("expected '+' or '-' at 'j'"));
  EXPECT_THAT(read_and_printed<IndexExpr>("2*"), HasSubstr("'' is not a name of an axis"));
  EXPECT_THAT(read_and_printed<IndexExpr>("{d0_1*i"), HasSubstr("a '{' without '}'"));
  EXPECT_THAT(read_and_printed<IndexExpr>("99999999999999999999*i"), HasSubstr("a number out of range"));
  EXPECT_THAT(read_and_printed<ReadExpr>("i,,j"), HasSubstr("an index is empty"));
  EXPECT_THAT(read_and_printed<AxisDecl>("2i"), HasSubstr("'2i' is not a name of an axis"));
  EXPECT_THAT(read_and_printed<AxisDecl>("i = N"), HasSubstr("'N' is not an extent (d0_1) or element (v0_1)"));
  EXPECT_THAT(read_and_printed<AxisNames>("i, 2"), HasSubstr("'2' is not a name of an axis"));
  EXPECT_THAT(read_and_printed<ExtentCheck>("d0_1 = 2"), HasSubstr("expected 'a == b: what'"));
  EXPECT_THAT(read_and_printed<ExtentExpr>(std::string(4097, '1')), HasSubstr("at most 4096 are read"));
}

}  // namespace
}  // namespace frazil::test
