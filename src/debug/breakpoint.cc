#include "debug/breakpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace frazil::debug {
namespace {

using When = Breakpoint::When;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Sizes> extents(std::string_view text) {
  Sizes sizes;
  if (text == "scalar") return sizes;
  while (true) {
    const std::size_t cross = text.find('x');
    const auto extent = number<std::int64_t>(text.substr(0, cross));
    if (!extent || *extent < 0) return std::nullopt;
    sizes.push_back(*extent);
    if (cross == std::string_view::npos) return sizes;
    text.remove_prefix(cross + 1);
  }
}

std::optional<When> word(std::string_view text) {
  if (text == "nan") return When::nan;
  if (text == "inf") return When::inf;
  return std::nullopt;
}

bool set_sites(Breakpoint& to, std::string_view name, const Sites& sites) {
  to.sites = sites.named(name);
  return !to.sites.empty();
}

/// Parses a name and a condition, which begins at the last space ("x nan") or at the last but one ("x > 3").
bool parse_condition(Breakpoint& to, std::string_view text, const Sites& sites) {
  const std::size_t last = text.rfind(' ');
  if (last == std::string_view::npos) return false;
  const std::string_view behind = text.substr(last + 1), front = trimmed(text.substr(0, last));
  if (const auto when = word(behind)) {
    to.when = *when;
    return set_sites(to, front, sites);
  }
  const std::size_t before = front.rfind(' ');
  if (before == std::string_view::npos) return false;
  const std::string_view relation = front.substr(before + 1), name = trimmed(front.substr(0, before));
  if (relation == "shape") {
    const auto shape = extents(behind);
    if (shape) to.when = When::shape, to.shape = *shape;
    return shape && set_sites(to, name, sites);
  }
  const auto bound = number<double>(behind);
  if (!bound || (relation != ">" && relation != "<")) return false;
  to.when = relation == ">" ? When::above : When::below;
  to.bound = *bound;
  return set_sites(to, name, sites);
}

bool has_numbers(Elem elem) { return elem != Elem::string; }

template <class F>
bool any(const Tensor& t, F holds) {
  for (std::int64_t i = 0; i < t.count(); ++i) {
    if (holds(t.number_at(i))) return true;
  }
  return false;
}

}  // namespace

bool Breakpoint::is_of(std::size_t site) const { return sites.empty() || std::ranges::binary_search(sites, site); }

bool Breakpoint::holds(const Datum& value) const {
  if (when == When::made) return true;
  if (when == When::guard || !value.is_tensor()) return false;
  const Tensor& t = value.tensor();
  if (when == When::shape) return t.sizes() == shape;
  if (!has_numbers(t.elem())) return false;
  switch (when) {
    case When::nan: return any(t, [](double x) { return std::isnan(x); });
    case When::inf: return any(t, [](double x) { return std::isinf(x); });
    case When::above: return any(t, [&](double x) { return x > bound; });
    case When::below: return any(t, [&](double x) { return x < bound; });
    default: return false;
  }
}

Result<Breakpoint> parse_breakpoint(std::string_view text, const Sites& sites) {
  text = trimmed(text);
  Breakpoint parsed;
  parsed.text = text;
  if (set_sites(parsed, text, sites)) return parsed;
  if (const auto when = word(text)) {
    parsed.when = *when;
    return parsed;
  }
  if (text == "guard") {
    parsed.when = When::guard;
    return parsed;
  }
  if (parse_condition(parsed, text, sites)) return parsed;
  return fail(
      Code::bad_input,
      "break: '{}' is not a value, node or operator of the model, and none of nan, inf, guard, NAME nan, NAME inf, "
      "NAME > NUMBER, NAME < NUMBER, NAME shape 1x3",
      text);
}

}  // namespace frazil::debug
