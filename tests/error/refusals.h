#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

// Invalid requests and graphs: the error that the user gets, on every tier alike.
namespace frazil::test {

/// The outcome of one attempt.
struct Attempt {
  bool ok = false;
  Code code = Code::internal;
  std::string message;
};
inline Attempt failed(const Fault& fault) { return {false, fault.code, fault.text()}; }

/// The exit code of the command: 0 success, 2 an error of the user, 3 a limit or a bug.
inline int exit_class(const Attempt& a) {
  if (a.ok) return 0;
  return a.code == Code::bad_model || a.code == Code::bad_input || a.code == Code::unsupported ? 2 : 3;
}

inline std::string shown(const Attempt& a) {
  return a.ok ? "no error" : std::string(name_of(a.code)) + ": " + a.message;
}

/// Small, so that values refused only by a limit are refused immediately.
inline constexpr std::size_t kSmallMemory = std::size_t{64} << 20;

inline Attempt run_once(const Graph& graph, const std::vector<Datum>& inputs, bool reference) {
  auto executable = Executable::make(std::make_shared<const Graph>(graph), {.reference = reference});
  if (!executable) return failed(executable.error());
  const auto session = (*executable)->open();
  Limits limits;
  limits.memory_bytes = kSmallMemory;
  limits.steps = 1'000'000;
  session->set_limits(limits);
  const auto out = session->run(inputs);
  return out ? Attempt{true, {}, {}} : failed(out.error());
}

/// A graph text with inputs on both tiers; if the text does not parse, both have that outcome.
struct Both {
  Attempt tier0, ref;
};
inline Both attempt(std::string_view text, const Bindings& inputs) {
  link_operators();
  const auto graph = parse(text);
  if (!graph) return {failed(graph.error()), failed(graph.error())};
  const std::vector<Datum> values = in_order(*graph, inputs);
  return {run_once(*graph, values, false), run_once(*graph, values, true)};
}

/// One line of printable text, not an internal error.
inline void expect_plain(const Attempt& a) {
  EXPECT_NE(a.message, "");
  EXPECT_NE(name_of(a.code), name_of(Code::internal)) << a.message;
  EXPECT_TRUE(std::ranges::none_of(a.message, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) << a.message;
}

/// `reasons`: parts of the message, one of which must occur ("a
/// b").
inline bool has_one_of(const std::string& message, std::string_view reasons) {
  for (std::size_t at = 0; at <= reasons.size();) {
    const std::size_t end = std::min(reasons.find('|', at), reasons.size());
    if (message.find(reasons.substr(at, end - at)) != message.npos) return true;
    at = end + 1;
  }
  return false;
}

/// Refused before running, because of the type of a result.
inline bool is_about_a_result(const Attempt& a) {
  return has_one_of(a.message,
                    "takes more than the limit|has more elements than the limit|would exceed the memory limit");
}

/// Both tiers refuse with the same exit code, and their messages name the node, or its place in the text if an
/// attribute does not parse, and one of the reasons. `or_limit`: a limit may be reported instead.
inline void expect_refused(const Both& both, std::string_view reasons, bool or_limit = false) {
  for (const Attempt* a : {&both.tier0, &both.ref}) {
    EXPECT_FALSE(a->ok) << (a == &both.ref ? "ref" : "tier 0") << " refused nothing; expected " << reasons;
    if (a->ok) continue;
    expect_plain(*a);
    if (is_about_a_result(*a)) continue;
    EXPECT_TRUE(has_one_of(a->message, "'bad'|line 2, column ")) << shown(*a) << "\ndoes not say where";
    EXPECT_TRUE(has_one_of(a->message, reasons)) << shown(*a) << "\nhas nothing of " << reasons;
  }
  if (or_limit) return;
  EXPECT_EQ(exit_class(both.tier0), exit_class(both.ref))
      << "tier 0: " << shown(both.tier0) << "\nref: " << shown(both.ref);
}

inline void expect_served(const Both& both) {
  EXPECT_TRUE(both.tier0.ok) << shown(both.tier0);
  EXPECT_TRUE(both.ref.ok) << shown(both.ref);
}

/// How an operator's operands are passed. `symbolic`: the extents of the data are symbols.
struct Delivery {
  bool data_constant, index_constant, symbolic;
  std::string str() const {
    return fmt::format("data {}{}, index {}", data_constant ? "constant" : "input", symbolic ? " (symbolic)" : "",
                       index_constant ? "constant" : "input");
  }
};
inline constexpr Delivery kDeliveries[] = {
    {false, false, false}, {false, false, true}, {false, true, false}, {false, true, true}, {true, true, false},
};

/// One call of an operator: "TopK(%x, %k) {axis = 1}", its data and its index operands as bindings.
struct Call {
  std::string_view text;
  std::string_view data;
  std::string_view index;
  int outputs = 1;
};

inline std::string type_of(const Datum& value, const std::string& name, bool symbolic) {
  if (!value.is_tensor()) return "seq<f32[...]>";
  const Tensor& t = value.tensor();
  if (!symbolic) return t.type_str();
  std::string dims;
  for (std::size_t d = 0; d < t.rank(); ++d) dims += fmt::format("{}{}_{}", d ? "," : "", name, d);
  return fmt::format("{}[{}]", name_of(t.elem()), dims);
}

/// The graph of a call and the values of its inputs.
inline std::pair<std::string, Bindings> graph_of_call(const Call& call, const Delivery& how) {
  std::string params, text(call.text);
  Bindings inputs;
  const auto add = [&](std::string_view bindings, bool constant, bool symbolic) {
    const auto parsed = parse_bindings(bindings);
    ASSERT_TRUE(parsed) << bindings << ": " << parsed.error().text();
    for (const auto& [name, value] : *parsed) {
      const std::string use = "%" + name;
      if (constant && value.is_tensor()) {
        for (std::size_t at = text.find(use); at != text.npos; at = text.find(use, at)) {
          const std::size_t end = at + use.size();
          if (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) {
            at = end;
            continue;
          }
          text.replace(at, use.size(), literal(value.tensor()));
        }
        continue;
      }
      params += (params.empty() ? "" : ", ") + use + ": " + type_of(value, name, symbolic);
      inputs.emplace_back(name, value);
    }
  };
  add(call.data, how.data_constant, how.symbolic);
  add(call.index, how.index_constant, false);
  std::string results = "%y0", returns = "y0 = %y0";
  for (int k = 1; k < call.outputs; ++k) {
    results += fmt::format(", %y{}", k);
    returns += fmt::format(", y{} = %y{}", k, k);
  }
  return {fmt::format("graph g({}) {{\n  {} = {} \"bad\"\n  return {}\n}}\n", params, results, text, returns), inputs};
}

inline Both attempt(const Call& call, const Delivery& how) {
  const auto [text, inputs] = graph_of_call(call, how);
  return attempt(text, inputs);
}

}  // namespace frazil::test
