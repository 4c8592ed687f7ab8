#include "govern/policy/program.h"

#include <algorithm>

#include "govern/policy/shown.h"

#ifdef FRAZIL_RE2
#include <re2/re2.h>
#endif

#include "govern/base/error.h"

namespace frazil::govern {

#ifdef FRAZIL_RE2
struct Pattern::Compiled {
  explicit Compiled(std::string_view text) : expression(re2::StringPiece(text.data(), text.size()), options()) {}
  static RE2::Options options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    return options;
  }
  RE2 expression;
};

Pattern::Pattern(std::string_view text) : compiled_(std::make_unique<Compiled>(text)) {
  if (!compiled_->expression.ok()) {
    fail(Code::bad_input, "the pattern is not valid for RE2: {}", shown(compiled_->expression.error()));
  }
}
bool Pattern::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->expression);
}
std::uint32_t Pattern::size() const { return static_cast<std::uint32_t>(compiled_->expression.ProgramSize()); }
#else
struct Pattern::Compiled {};
Pattern::Pattern(std::string_view) {
  fail(Code::unsupported,
       "matches() needs RE2, which this build is without: install libre2-dev and configure with -DFRAZIL_RE2=ON");
}
bool Pattern::matches(std::string_view) const { return false; }
std::uint32_t Pattern::size() const { return 0; }
#endif
Pattern::~Pattern() = default;

std::uint32_t PolicyProgram::add(const PolicyNode& node) {
  nodes.push_back(node);
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

std::uint32_t PolicyProgram::add_constant(const Value& value) {
  constants.push_back(value);
  return static_cast<std::uint32_t>(constants.size() - 1);
}

Value PolicyProgram::keep(const Value& value) {
  const std::size_t count = std::size_t{value.size} * (value.kind == ValueKind::map ? 2 : 1);
  const std::size_t bytes = value.kind == ValueKind::text ? value.size + sizeof(std::string) : count * sizeof(Value);
  if (bytes > keep_budget) fail(Code::limit, "the constants of the policy take more than 64 MiB");
  Value kept = value;
  if (value.kind == ValueKind::text) {
    keep_budget -= bytes;
    kept.text = texts.emplace_back(value.view()).data();
  } else if (value.kind == ValueKind::list || value.kind == ValueKind::map) {
    keep_budget -= bytes;
    std::vector<Value>& items = elements.emplace_back();
    items.reserve(count);
    for (std::size_t i = 0; i < count; ++i) items.push_back(keep(value.items[i]));
    kept.items = items.data();
  }
  return kept;
}

std::uint32_t PolicyProgram::sorted(const Value& list) {
  const auto [found, added] = sorted_index.try_emplace(list.items);
  if (!added) return found->second;
  std::vector<Value> items(list.items, list.items + list.size);
  std::ranges::sort(items, {}, &Value::view);
  return found->second = add_constant(keep(Value::compound(ValueKind::list, items.data(), list.size)));
}

std::uint32_t PolicyProgram::pattern(std::string_view text) {
  constexpr std::size_t kMost = 100;
  if (const auto found = pattern_index.find(text); found != pattern_index.end()) return found->second;
  if (patterns.size() == kMost) fail(Code::limit, "more than {} patterns", kMost);
  patterns.push_back(std::make_unique<Pattern>(text));
  return pattern_index[std::string(text)] = static_cast<std::uint32_t>(patterns.size() - 1);
}

}  // namespace frazil::govern
