#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/os/knobs.h"
#include "exec/native/backend.h"
#include "exec/run/executable.h"
#include "exec/run/session.h"
#include "ir/text/text.h"
#include "ops/core/registry.h"
#include "suite/share_steps.h"
#include "tensor/compare.h"

// Every graph of the suite runs on each tier; the reference executor determines the expected results.
namespace frazil::test {

using exec::Executable;
using exec::Session;

/// The rounding error of `terms` products of numbers up to `size` in f32; the reference executor sums in double.
inline Tolerance sum_of(std::int64_t terms, double size = 1) {
  return {.rtol = 1e-5, .atol = 1e-6 + 2e-7 * size * static_cast<double>(terms)};
}
inline constexpr Tolerance kExact{.rtol = 0, .atol = 0};
inline constexpr Tolerance kClose{.rtol = 1e-5, .atol = 1e-6};

/// Numbers from -1 to 1 of which neighbours differ on every axis.
inline Tensor uneven(Sizes sizes, int seed = 0, float scale = 1) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  int k = seed;
  for (float& v : t.as_mutable<float>()) v = scale * (static_cast<float>(k++ * 37 % 23) / 11.0f - 1.0f);
  return t;
}

/// The graph of a text; a test failure and an empty graph where it does not parse.
inline Graph graph_of(std::string_view text, const WeightSource& weights = {}) {
  link_operators();
  auto graph = parse(text, weights);
  if (graph) return std::move(*graph);
  ADD_FAILURE() << graph.error().text() << "\n" << text;
  return {};
}

/// Named values in the order of the graph's inputs; absent ones are empty.
inline std::vector<Datum> in_order(const Graph& graph, const Bindings& bindings) {
  std::vector<Datum> values(graph.input_names().size());
  for (const auto& [name, value] : bindings) {
    const auto at = std::ranges::find(graph.input_names(), name);
    if (at == graph.input_names().end()) {
      ADD_FAILURE() << "the graph has no input '" << name << "'";
      continue;
    }
    values[static_cast<std::size_t>(at - graph.input_names().begin())] = value;
  }
  return values;
}
/// The same from text: "%x = f32[2] [1, 2]".
inline std::vector<Datum> in_order(const Graph& graph, std::string_view text) {
  auto bindings = parse_bindings(text);
  if (bindings) return in_order(graph, *bindings);
  ADD_FAILURE() << bindings.error().text() << "\n" << text;
  return {};
}

/// A graph on tier 0. If it cannot be planned, the test fails and `session` is null.
struct Tier0 {
  std::shared_ptr<Executable> executable;
  std::unique_ptr<Session> session;

  explicit Tier0(const Graph& graph, PassSet passes = {}) {
    auto made = Executable::make(std::make_shared<const Graph>(graph), {.passes = passes});
    if (!made) {
      ADD_FAILURE() << made.error().text() << "\n" << print(graph);
      return;
    }
    executable = *made;
    session = executable->open();
    share_steps(*session);
  }
  explicit operator bool() const { return session != nullptr; }
};

/// True if all sweeps are asked for: make test-all.
inline bool every_sweep() { return std::getenv("FRAZIL_TEST_ALL") != nullptr; }

/// For an executable with all passes: the sets without one pass each that changed its graph or plan; for a graph whose
/// types follow one branch of an If, or with every_sweep(), the sets without each pass. A pass that changed nothing
/// gives the same plan when it is off.
inline std::vector<PassSet> sets_without_a_pass(const Executable& executable) {
  const bool all = every_sweep() || !executable.graph().assumptions().empty();
  std::vector<PassSet> sets;
  for (std::size_t i = 0; i < pass_names().size(); ++i) {
    const auto changed = [&](const pass::PassRun& run) { return run.changed && run.name == pass_names()[i]; };
    if (all || std::ranges::any_of(executable.passes(), changed))
      sets.push_back(PassSet::without(static_cast<Pass>(i)));
  }
  return sets;
}

/// The reference executor with all specialisations of a graph whose types follow one branch of an If.
inline Result<std::vector<Datum>> run_on_reference(const Graph& graph, const std::vector<Datum>& inputs) {
  FRAZIL_TRY(const auto executable, Executable::make(std::make_shared<const Graph>(graph), {.reference = true}));
  return executable->open()->run(inputs);
}

inline void expect_equal(const Graph& graph, const std::vector<Datum>& got, const std::vector<Datum>& want,
                         Tolerance tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto what = difference(got[i], want[i], tolerance);
    EXPECT_FALSE(what) << "output '" << graph.output_names()[i] << "': " << *what;
  }
}

/// One run of a session compared with the reference executor: values agree, or both fail with the same code.
inline Result<std::vector<Datum>> run_beside_reference(Session& session, const Graph& graph,
                                                       const std::vector<Datum>& inputs, Tolerance tolerance = kClose) {
  auto got = session.run(inputs);
  const auto want = run_on_reference(graph, inputs);
  if (got && want) {
    expect_equal(graph, *got, *want, tolerance);
  } else if (got || want) {
    ADD_FAILURE() << "tier 0: " << (got ? "no error" : got.error().text())
                  << "\nref: " << (want ? "no error" : want.error().text());
  } else {
    EXPECT_EQ(name_of(got.error().code), name_of(want.error().code))
        << got.error().text() << "\nref: " << want.error().text();
  }
  return got;
}

inline void run_compiled(const Graph& graph, const std::vector<Datum>& inputs, const Result<std::vector<Datum>>& want,
                         exec::Tier tier) {
  const auto made = Executable::make(std::make_shared<const Graph>(graph), {.tier = tier});
  ASSERT_TRUE(made) << made.error().text();
  const auto session = (*made)->open();
  share_steps(*session);
  for (int run = 0; run < 2; ++run) {
    const auto got = session->run(inputs);
    ASSERT_EQ(got.has_value(), want.has_value()) << (got ? "no error" : got.error().text());
    SCOPED_TRACE("tier " + std::to_string(static_cast<int>(tier)) + ": " + (*made)->machine_code().explain());
    if (got) {
      expect_equal(graph, *got, *want, kExact);
    } else {
      EXPECT_EQ(got.error().text(), want.error().text());
    }
  }
}

/// Runs a graph on tiers 1 and 2, where this build has it and FRAZIL_TIER is not 0: bit for bit what tier 0 gives.
inline void run_compiled(const Graph& graph, const std::vector<Datum>& inputs, const Result<std::vector<Datum>>& want) {
  if (knobs()->tier == "0" || !exec::native_module()) return;
  for (const exec::Tier tier : {exec::Tier::compiled, exec::Tier::specialised}) run_compiled(graph, inputs, want, tier);
}

/// Runs a graph on every tier, twice each: in the second run everything is prepared. Returns tier 0's results; a graph
/// without a plan must fail on the reference executor as well.
inline Result<std::vector<Datum>> run_tiers(const Graph& graph, const std::vector<Datum>& inputs,
                                            Tolerance tolerance = kClose) {
  if (auto made = Executable::make(std::make_shared<const Graph>(graph)); !made) {
    const auto want = run_on_reference(graph, inputs);
    EXPECT_FALSE(want) << "only tier 0 refuses: " << made.error().text();
    return std::unexpected(std::move(made).error());
  }
  const Tier0 tier(graph);
  const auto first = run_beside_reference(*tier.session, graph, inputs, tolerance);
  auto second = tier.session->run(inputs);
  EXPECT_EQ(first.has_value(), second.has_value()) << "the second run differs from the first";
  if (first && second) expect_equal(graph, *second, *first, kExact);
  run_compiled(graph, inputs, second);
  return second;
}
inline Result<std::vector<Datum>> run_tiers(const Graph& graph, std::string_view inputs, Tolerance tolerance = kClose) {
  return run_tiers(graph, in_order(graph, inputs), tolerance);
}

}  // namespace frazil::test
