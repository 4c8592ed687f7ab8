#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "plan/model/plan.h"
#include "suite/tiers.h"

// Attention: the kernel against the operator's body, and expansions of exporters with and without the pass.
namespace frazil::test {
namespace {

using testing::HasSubstr;

std::ptrdiff_t steps_of(const Executable& executable, Kernel kernel) {
  const Plan& plan = executable.plan();
  return std::ranges::count_if(plan.steps, [&](const Step& step) { return plan.kernel_of(step) == kernel; });
}

/// Extents by the symbols' names; one that is missing is 1.
using Extents = std::map<std::string, std::int64_t>;

std::vector<Datum> inputs_for(const Graph& graph, const Extents& extents, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Datum> inputs;
  for (Value v : graph.main().params) {
    const Type& type = graph.type(v);
    Sizes sizes;
    for (Dim d : type.shape) {
      const auto symbol = graph.scope().as_symbol(d);
      const auto at = symbol ? extents.find(std::string(graph.scope().symbol_name(*symbol))) : extents.end();
      sizes.push_back(d.is_const() ? d.value() : at == extents.end() ? 1 : at->second);
    }
    Tensor t = Tensor::make(type.elem, sizes).value();
    std::normal_distribution<float> normal;
    if (type.elem == Elem::f32) {
      for (float& x : t.as_mutable<float>()) x = normal(random);
    } else if (type.elem == Elem::i64) {
      for (std::int64_t& x : t.as_mutable<std::int64_t>()) x = static_cast<std::int64_t>(random() % 9);
    } else {
      for (std::size_t i = 0; i < t.bytes(); ++i) t.mutable_data()[i] = std::byte(random() % 3 != 0);
    }
    inputs.emplace_back(std::move(t));
  }
  return inputs;
}

// ---- the kernel ----

struct AttentionKernelCase {
  std::string_view name, params, operands, attrs;
};

constexpr std::string_view kQkv = "%q: f32[B,6,S,D], %k: f32[B,G,T,D], %v: f32[B,G,T,E]";
const AttentionKernelCase kKernelCases[] = {
    {"plain", "", "", ""},
    {"scaled", "", "", "{scale = 0.3}"},
    {"softly_limited", "", "", "{softcap = 0.5}"},
    {"bias_of_keys", ", %m: f32[B,1,1,T]", ", %m", ""},
    {"bias_of_queries_and_keys", ", %m: f32[S,T]", ", %m", "{softcap = 2.0}"},
    {"bias_of_heads", ", %m: f32[6,S,T]", ", %m", ""},
    {"bias_of_queries", ", %m: f32[B,1,S,1]", ", %m", ""},
    {"one_bias", ", %m: f32[]", ", %m", ""},
    {"kept", ", %c: bool[B,1,S,T]", ", _, %c", "{undefined = 1}"},
    {"kept_keys_or_zero", ", %c: bool[B,1,1,T]", ", _, %c", "{undefined = 2}"},
    {"kept_queries", ", %c: bool[S,1]", ", _, %c", "{hidden = -10000.0}"},
    {"kept_and_biased", ", %m: f32[T], %c: bool[S,T]", ", %m, %c", "{hidden = -3.0}"},
    {"kept_then_biased", ", %m: f32[T], %c: bool[S,T]", ", %m, %c", "{hidden = -3.0, biased_hidden = 1}"},
    {"causal", "", "", "{causal = 1}"},
    {"causal_from", ", %f: i64[B]", ", _, _, %f", "{causal = 1, undefined = 1}"},
    {"causal_from_one", ", %f: i64[1]", ", _, _, %f", "{causal = 1, undefined = 1}"},
    {"lengths", ", %n: i64[B]", ", _, _, _, %n", "{undefined = 1}"},
    {"all", ", %m: f32[6,S,T], %c: bool[B,1,S,T], %f: i64[B], %n: i64[B]", ", %m, %c, %f, %n",
     "{causal = 1, undefined = 2, softcap = 3.0, scale = 0.7}"},
};

const Extents kExtents[] = {
    {{"B", 2}, {"G", 6}, {"S", 5}, {"T", 7}, {"D", 8}, {"E", 3}},
    {{"B", 1}, {"G", 2}, {"S", 33}, {"T", 70}, {"D", 16}, {"E", 40}},
    {{"B", 2}, {"G", 3}, {"S", 1}, {"T", 300}, {"D", 12}, {"E", 12}},
    {{"B", 1}, {"G", 1}, {"S", 60}, {"T", 530}, {"D", 5}, {"E", 33}},
    {{"B", 3}, {"G", 6}, {"S", 1}, {"T", 1}, {"D", 1}, {"E", 1}},
    {{"B", 1}, {"G", 6}, {"S", 17}, {"T", 17}, {"D", 64}, {"E", 64}},
    {{"B", 0}, {"G", 6}, {"S", 4}, {"T", 4}, {"D", 4}, {"E", 4}},
    {{"B", 1}, {"G", 6}, {"S", 4}, {"T", 0}, {"D", 4}, {"E", 4}},
    {{"B", 1}, {"G", 6}, {"S", 4}, {"T", 3}, {"D", 0}, {"E", 2}},
};

class AttendKernel : public testing::TestWithParam<AttentionKernelCase> {};

TEST_P(AttendKernel, GivesWhatTheBodyGives) {
  const AttentionKernelCase& c = GetParam();
  const Graph graph = graph_of(fmt::format("graph g({}{}) {{ %y = frazil::Attend(%q, %k, %v{}) {} return y = %y }}",
                                           kQkv, c.params, c.operands, c.attrs));
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  EXPECT_EQ(steps_of(*tier.executable, Kernel::attention), 1);
  for (const Extents& extents : kExtents) {
    SCOPED_TRACE(fmt::format("{} queries, {} keys", extents.at("S"), extents.at("T")));
    kernel::on_every_isa(
        [&] { EXPECT_TRUE(run_beside_reference(*tier.session, graph, inputs_for(graph, extents, 3), sum_of(70))); });
  }
}
INSTANTIATE_TEST_SUITE_P(Attention, AttendKernel, testing::ValuesIn(kKernelCases),
                         [](const auto& example) { return std::string(example.param.name); });

TEST(AttendKernelStrides, AreThoseOfViews) {
  const Graph graph = graph_of(R"(graph g(%q: f32[B,S,6,D], %k: f32[2,D,B,T], %v: f32[E,T,B,2], %m: f32[T,S]) {
    %a = Transpose(%q) {perm = [0, 2, 1, 3]} %b = Transpose(%k) {perm = [2, 0, 3, 1]}
    %c = Transpose(%v) {perm = [2, 3, 1, 0]} %d = Transpose(%m) %e = Greater(%d, f32[] -1)
    %y = frazil::Attend(%a, %b, %c, %d, %e) {undefined = 1} return y = %y })");
  for (const Extents& extents : kExtents) EXPECT_TRUE(run_tiers(graph, inputs_for(graph, extents, 5), sum_of(70)));
}

TEST(AttendKernelRows, WithoutProbabilities) {
  const auto graph = [](int undefined) {
    return graph_of(
        fmt::format("graph g(%m: f32[1,1,2,3]) {{ %y = frazil::Attend(f32[1,1,2,1] 1, f32[1,1,3,1] 1, "
                    "f32[1,1,3,1] [2, 4, 6], %m) {{undefined = {}}} return y = %y }}",
                    undefined));
  };
  const auto rows = [&](int undefined, std::string_view masks) {
    const Graph g = graph(undefined);
    const auto y = run_tiers(g, fmt::format("%m = f32[1,1,2,3] {}", masks));
    EXPECT_TRUE(y);
    return std::pair(y ? (*y)[0].tensor().number_at(0) : 0, y ? (*y)[0].tensor().number_at(1) : 0);
  };
  constexpr std::string_view kHidden = "[-inf, -inf, -inf, 0, -inf, 0]", kNan = "[nan, -inf, -inf, -inf, -inf, 0]";
  EXPECT_TRUE(std::isnan(rows(0, kHidden).first));
  EXPECT_EQ(rows(0, kHidden).second, 4);
  EXPECT_EQ(rows(1, kHidden), std::pair(0.0, 4.0));
  EXPECT_EQ(rows(2, kHidden), std::pair(0.0, 4.0));
  EXPECT_TRUE(std::isnan(rows(1, kNan).first));
  EXPECT_EQ(rows(1, kNan).second, 6);
  EXPECT_EQ(rows(2, kNan), std::pair(0.0, 6.0));
}

TEST(RotateKernel, GivesWhatTheBodyGives) {
  const std::string_view graphs[] = {
      "%x: f32[B,H,T,16], %c: f32[T,16], %s: f32[T,16]) { %y = frazil::Rotate(%x, %c, %s)",
      "%x: f32[B,H,T,16], %c: f32[B,1,T,16], %s: f32[1,T,16]) { %y = frazil::Rotate(%x, %c, %s)",
      "%x: f32[B,H,T,34], %c: f32[B,1,T,17], %s: f32[T,17]) { %y = frazil::Rotate(%x, %c, %s) {half_tables = 1}",
      "%x: f32[B,H,16,T], %c: f32[16,T], %s: f32[16]) { %t = Transpose(%x) {perm = [0, 1, 3, 2]} "
      "%k = Transpose(%c) %y = frazil::Rotate(%t, %k, %s)",
      "%x: f32[6], %c: f32[], %s: f32[6]) { %y = frazil::Rotate(%x, %c, %s)",
  };
  for (const std::string_view text : graphs) {
    SCOPED_TRACE(text);
    const Graph graph = graph_of(fmt::format("graph g({} return y = %y }}", text));
    EXPECT_EQ(steps_of(*Tier0(graph).executable, Kernel::rotary), 1);
    for (const Extents& extents : {Extents{{"B", 2}, {"H", 3}, {"T", 5}}, Extents{{"B", 1}, {"H", 1}, {"T", 1}},
                                   Extents{{"B", 1}, {"H", 2}, {"T", 0}}}) {
      EXPECT_TRUE(run_tiers(graph, inputs_for(graph, extents, 9), kExact));
    }
  }
}

TEST(RotaryForms, AreRecovered) {
  const std::string_view forms[] = {
      "%a = Slice(%x, i64[1] 0, i64[1] 8, i64[1] 3) %b = Slice(%x, i64[1] 8, i64[1] 9223372036854775807, i64[1] 3)",
      "%a, %b = Split(%x, i64[2] [8, 8]) {axis = -1}",
      "%z = Shape(%x) {start = 3} %h = Div(%z, i64[1] 2) %a = Slice(%x, i64[1] 0, %h, i64[1] -1) "
      "%b = Slice(%x, %h, %z, i64[1] -1)",
      "%a, %b = Split(%x) {axis = 3, num_outputs = 2}",
  };
  for (const std::string_view form : forms) {
    const Graph graph = graph_of(fmt::format(
        "graph g(%w: f32[B,T,3,16], %c: f32[B,1,T,16], %s: f32[T,16]) {{ %x = Transpose(%w) {{perm = [0, 2, 1, 3]}} {} "
        "%n = Neg(%b) %r = Concat(%n, %a) {{axis = -1}} %p = Mul(%r, %s) %q = Mul(%x, %c) %y = Add(%q, %p) "
        "return y = %y }}",
        form));
    const Tier0 with(graph), without(graph, PassSet::without(Pass::attention));
    ASSERT_TRUE(with && without);
    EXPECT_EQ(steps_of(*with.executable, Kernel::rotary), 1) << form;
    EXPECT_EQ(steps_of(*without.executable, Kernel::rotary), 0);
    const auto values = inputs_for(graph, {{"B", 2}, {"T", 5}}, 7);
    for (const Tier0* tier : {&with, &without}) run_beside_reference(*tier->session, graph, values, kExact);
  }
}

// ---- the pass ----

/// An expansion written by an exporter, between the inputs below and %o.
struct ExporterForm {
  std::string_view name, nodes;
  std::string_view apart = {};  ///< the reason in explain() if it is not recovered
};

constexpr std::string_view kFormInputs =
    "%q: f32[B,3,S,8], %k: f32[B,3,T,8], %v: f32[B,3,T,8], %m: f32[B,1,1,T], %b: f32[3,S,T], %c: bool[B,1,S,T], "
    "%w: f32[], %x: f32[B,S,3,8], %y: f32[B,T,3,8]";

const ExporterForm kExporterForms[] = {
    {"bert",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %d = Div(%s, f32[] 8) %a = Add(%d, %m) "
     "%p = Softmax(%a) %o = MatMul(%p, %v)"},
    {"mask_before_scores",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %d = Mul(f32[1] 0.125, %s) %a = Add(%m, %d) "
     "%p = Softmax(%a) {axis = 3} %o = MatMul(%p, %v)"},
    {"both_sides_scaled",
     "%f = Mul(%q, f32[] 0.6) %t = Transpose(%k) {perm = [0, 1, 3, 2]} %g = Mul(%t, f32[] 0.6) %s = MatMul(%f, %g) "
     "%a = Add(%s, %b) %p = Softmax(%a) %n = IsNaN(%p) %e = Where(%n, f32[] 0, %p) %o = MatMul(%e, %v)"},
    {"scale_from_a_shape",
     "%z = Shape(%q) {start = 3} %h = Cast(%z) {to = f32} %r = Sqrt(%h) %i = Div(f32[] 1, %r) %j = Sqrt(%i) "
     "%f = Mul(%q, %j) %t = Transpose(%k) {perm = [0, 1, 3, 2]} %g = Mul(%t, %j) %s = MatMul(%f, %g) "
     "%p = Softmax(%s) %o = MatMul(%p, %v)"},
    {"scale_that_data_tell",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %d = Mul(%w, %s) %u = Div(%d, %w) "
     "%p = Softmax(%u) %o = MatMul(%p, %v)"},
    {"choice_of_keys",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %a = Where(%c, %s, f32[] -10000) "
     "%p = Softmax(%a) %o = MatMul(%p, %v)"},
    {"choice_of_what_hides",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %a = Where(%c, f32[] -inf, %s) "
     "%p = Softmax(%a) %n = IsNaN(%p) %e = Where(%n, f32[] 0, %p) %o = MatMul(%e, %v)"},
    {"choice_then_mask",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %d = Div(%s, f32[] 4) "
     "%a = Where(%c, %d, f32[] -5) %e = Add(%a, %m) %p = Softmax(%e) %o = MatMul(%p, %v)"},
    {"mask_then_choice",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %d = Div(%s, f32[] 4) %e = Add(%d, %m) "
     "%a = Where(%c, %e, f32[] -5) %p = Softmax(%a) %o = MatMul(%p, %v)"},
    {"two_masks",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %d = Add(%b, %s) %e = Add(%d, %m) "
     "%p = Softmax(%e) %o = MatMul(%p, %v)"},
    {"softly_limited",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %d = Mul(%s, f32[] 0.25) %e = Div(%d, f32[] 2) "
     "%h = Tanh(%e) %u = Mul(%h, f32[] 2) %a = Add(%u, %m) %p = Softmax(%a) %o = MatMul(%p, %v)"},
    {"einsum_of_keras",
     "%f = Mul(%x, f32[] 0.35) %s = Einsum(%y, %f) {equation = \"aecd,abcd->acbe\"} %a = Add(%s, %m) "
     "%p = Softmax(%a) %z = Einsum(%p, %y) {equation = \"acbe,aecd->abcd\"} "
     "%o = Transpose(%z) {perm = [0, 2, 1, 3]}"},
    {"einsum_of_queries_first",
     "%s = Einsum(%x, %y) {equation = \"bqhd,bkhd->bhqk\"} %a = Add(%s, %m) "
     "%p = Softmax(%a) %z = Einsum(%p, %y) {equation = \"bhqk,bkhd->bqhd\"} "
     "%o = Transpose(%z) {perm = [0, 2, 1, 3]}"},
    {"heads_in_the_batch",
     "%f = Reshape(%q, i64[3] [-1, S, 8]) %g = Reshape(%k, i64[3] [-1, T, 8]) %h = Reshape(%v, i64[3] [-1, T, 8]) "
     "%t = Transpose(%g) {perm = [0, 2, 1]} %s = MatMul(%f, %t) %p = Softmax(%s) %e = MatMul(%p, %h) "
     "%o = Unsqueeze(%e, i64[1] [0])"},
    {"one_head",
     "%f = Squeeze(%q1, i64[2] [0, 1])  %g = Squeeze(%k1, i64[2] [0, 1]) %h = Squeeze(%v1, i64[2] [0, 1]) "
     "%t = Transpose(%g) %s = MatMul(%f, %t) %d = Div(%s, f32[] 3) %p = Softmax(%d) %e = MatMul(%p, %h) "
     "%o = Unsqueeze(%e, i64[2] [0, 1])"},
    {"mask_of_other_extents",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %a = Add(%s, %l) %p = Softmax(%a) "
     "%o = MatMul(%p, %v)"},
    {"scores_are_used",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %a = Add(%s, %m) %p = Softmax(%a) "
     "%e = MatMul(%p, %v) %r = ReduceMax(%s, i64[1] -1) %o = Add(%e, %r)",
     "has another use"},
    {"probabilities_are_used",
     "%t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %p = Softmax(%s) %e = MatMul(%p, %v) "
     "%r = ReduceMax(%p, i64[1] -1) %o = Add(%e, %r)",
     "has another use"},
    {"queries_broadcast",
     "%f = ReduceMean(%q, i64[1] 1) %t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%f, %t) %p = Softmax(%s) "
     "%o = MatMul(%p, %v)",
     "are not provably equal"},
};

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

class AttentionForms : public testing::TestWithParam<ExporterForm> {};

TEST_P(AttentionForms, AreRecovered) {
  const ExporterForm& form = GetParam();
  const std::string nodes =
      replaced(replaced(std::string(form.nodes), "-1, S, 8", "-1, 9, 8"), "-1, T, 8", "-1, 11, 8");
  std::string inputs(kFormInputs);
  if (form.nodes.contains("-1, S, 8")) inputs = replaced(replaced(inputs, ",S", ",9"), ",T", ",11");
  const Graph graph = graph_of(fmt::format(
      "graph g({}, %q1: f32[1,1,S,8], %k1: f32[1,1,T,8], %v1: f32[1,1,T,8], %l: f32[1,1,L]) {{ {} return o = %o }}",
      inputs, nodes));
  const Tier0 with(graph), without(graph, PassSet::without(Pass::attention));
  ASSERT_TRUE(with && without);
  EXPECT_EQ(steps_of(*with.executable, Kernel::attention), form.apart.empty());
  EXPECT_EQ(steps_of(*without.executable, Kernel::attention), 0);
  EXPECT_THAT(with.executable->explain(), HasSubstr(form.apart));
  for (const auto& [queries, keys] : {std::pair(9, 11), std::pair(1, 40), std::pair(50, 7)}) {
    if (form.nodes.contains("-1, S, 8") && queries != 9) continue;
    const auto values = inputs_for(graph, {{"B", 2}, {"S", queries}, {"T", keys}, {"L", keys}}, 11);
    for (const Tier0* tier : {&with, &without}) {
      EXPECT_TRUE(run_beside_reference(*tier->session, graph, values, sum_of(60)));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Attention, AttentionForms, testing::ValuesIn(kExporterForms),
                         [](const auto& example) { return std::string(example.param.name); });

TEST(AttentionForm, AMaskOfOtherExtentsIsAnError) {
  const Graph graph = graph_of(R"(graph g(%q: f32[1,1,S,8], %k: f32[1,1,T,8], %l: f32[1,1,L]) {
    %t = Transpose(%k) {perm = [0, 1, 3, 2]} %s = MatMul(%q, %t) %a = Add(%s, %l) %p = Softmax(%a)
    %o = MatMul(%p, %k) return o = %o })");
  for (const std::int64_t other : {1, 5}) {
    EXPECT_TRUE(run_tiers(graph, inputs_for(graph, {{"S", 2}, {"T", 5}, {"L", other}}, 1)));
  }
  EXPECT_FALSE(run_tiers(graph, inputs_for(graph, {{"S", 2}, {"T", 5}, {"L", 4}}, 1)));
  EXPECT_FALSE(run_tiers(graph, inputs_for(graph, {{"S", 2}, {"T", 1}, {"L", 4}}, 1)));
}

}  // namespace
}  // namespace frazil::test
