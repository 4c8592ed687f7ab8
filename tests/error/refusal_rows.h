#pragma once

#include <map>
#include <set>

#include "error/refusals.h"
#include "ir/op/op.h"

#define LOW "-9223372036854775808"
#define HIGH "9223372036854775807"

// Tables of calls that work with valid attributes or operands and are refused with invalid ones.
namespace frazil::test {

struct Bad {
  std::string_view what;     ///< attributes or bindings that replace the valid ones
  std::string_view reasons;  ///< every message must contain one of these parts
  bool or_limit = false;     ///< so large that a limit may be reported first
};

/// Operands of a call.
struct IndexRow {
  Call call;
  std::vector<Bad> bad;
};

inline void expect_bad_indices(const IndexRow& row) {
  for (const Delivery& how : kDeliveries) {
    SCOPED_TRACE(fmt::format("{}: good {}, {}", row.call.text, row.call.index, how.str()));
    expect_served(attempt(row.call, how));
  }
  for (const Bad& bad : row.bad) {
    for (const Delivery& how : kDeliveries) {
      Call call = row.call;
      call.index = bad.what;
      SCOPED_TRACE(fmt::format("{}: {}, {}", call.text, call.index, how.str()));
      expect_refused(attempt(call, how), bad.reasons, bad.or_limit);
    }
  }
}

/// A call that works with its valid attributes, with one result, and fails with each of the invalid ones.
struct AttrRow {
  std::string_view call, data, good;
  std::vector<Bad> bad;
  int outputs = 1;
};

inline void expect_bad_attributes(const AttrRow& row) {
  const auto with = [&](std::string_view attrs) { return fmt::format("{} {{{}}}", row.call, attrs); };
  const auto call = [&](const std::string& text) { return Call{text, row.data, "", row.outputs}; };
  for (const Delivery& how : {Delivery{false, false, false}, Delivery{false, false, true}}) {
    const std::string good = with(row.good);
    if (row.outputs == 1) {
      SCOPED_TRACE(fmt::format("good {}, {}", good, how.str()));
      expect_served(attempt(call(good), how));
    }
    for (const Bad& bad : row.bad) {
      const std::string text = bad.what.empty() ? std::string(row.call) : with(bad.what);
      SCOPED_TRACE(fmt::format("{}, {}", text, how.str()));
      expect_refused(attempt(call(text), how), bad.reasons, bad.or_limit);
    }
  }
}

/// "Uniform" of "frazil::Uniform(%s)".
inline std::string_view op_in(std::string_view call) {
  const std::string_view name = call.substr(0, call.find('('));
  const std::size_t domain = name.rfind("::");
  return domain == name.npos ? name : name.substr(domain + 2);
}

/// The invalid attributes of each operator, as one text.
inline std::map<std::string_view, std::string> tried_attributes(const std::vector<AttrRow>& rows) {
  std::map<std::string_view, std::string> texts;
  for (const AttrRow& row : rows) {
    for (const Bad& bad : row.bad) texts[op_in(row.call)] += fmt::format(" {},", bad.what);
  }
  return texts;
}

/// Every integer attribute has an invalid value in `tried`, except those that are `free`: "axis", or "Shape.start".
inline void expect_integers_tried(const OpDef& op, const std::string& tried, const std::set<std::string_view>& free) {
  for (const AttrField& field : op.attrs.fields) {
    if (field.kind != AttrKind::integer && field.kind != AttrKind::integers) continue;
    if (free.contains(field.name) || free.contains(fmt::format("{}.{}", op.name, field.name))) continue;
    EXPECT_THAT(tried, testing::HasSubstr(fmt::format(" {} = ", field.name))) << op.name;
  }
}

/// The parts of decoding loops, whose tables are in decoding_parts_test.cc.
inline const std::set<std::string_view> kDecodingParts = {
    "AppendTokens",  "BeamEnd",    "BeamRank",     "BeamResult",   "BeamStart",
    "BeamStep",      "NextInputs", "PadSequences", "PromptInputs", "RepeatRows",
    "SampledTokens", "StepCount",  "StepScores",   "TokenScores",  "UniformOf"};

/// A name for a parameterised test.
inline std::string name_of_row(std::string_view call, std::size_t index) {
  std::string name(call.substr(0, call.find('(')));
  std::erase_if(name, [](char c) { return c == ':' || c == '.'; });
  return fmt::format("{}_{}", name, index);
}

}  // namespace frazil::test
