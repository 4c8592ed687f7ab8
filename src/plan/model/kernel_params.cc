#include "plan/model/kernel_params.h"

#include <array>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/text/scalar_text.h"

namespace frazil {
namespace {

template <class T>
std::string text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, std::optional<float>>) {
    return value ? fmt::format("{}", *value) : "none";
  } else if constexpr (std::is_same_v<T, std::vector<kernel::Outside>> || std::is_same_v<T, std::vector<Fold>>) {
    std::vector<int> numbers;
    for (const auto item : value) numbers.push_back(static_cast<int>(item));
    return text(numbers);
  } else if constexpr (std::is_same_v<T, std::vector<Elem>>) {
    return fmt::format("[{}]", fmt::join(value | std::views::transform([](Elem e) { return name_of(e); }), ", "));
  } else if constexpr (std::is_same_v<T, ScalarTape>) {
    return fmt::format("[{}]", fmt::join(lines_of(value), "; "));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", value);
  } else {
    return fmt::format("[{}]", fmt::join(value, ", "));
  }
}

/// Returns the names and texts of a family's fields.
template <class P>
std::vector<std::pair<std::string_view, std::string>> fields_of(const P& params) {
  std::vector<std::pair<std::string_view, std::string>> all;
  P::fields(params, [&](std::string_view name, const auto& value) { all.emplace_back(name, text(value)); });
  return all;
}

constexpr std::array kNames{
#define FRAZIL_X(name, type) std::string_view(#name),
    FRAZIL_KERNELS(FRAZIL_X)
#undef FRAZIL_X
};

}  // namespace

std::string_view name_of(Kernel kernel) { return kNames[static_cast<std::size_t>(kernel)]; }

std::optional<KernelParams> kernel_named(std::string_view name) {
#define FRAZIL_X(kernel, type) \
  if (name == #kernel) return params::type{};
  FRAZIL_KERNELS(FRAZIL_X)
#undef FRAZIL_X
  return std::nullopt;
}

std::string str(const KernelParams& params) {
  return std::visit(
      [&](const auto& p) {
        std::string s(name_of(kernel_of(params)));
        const auto now = fields_of(p), initial = fields_of(std::remove_cvref_t<decltype(p)>{});
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (now[i].second != initial[i].second) s += fmt::format(" {}={}", now[i].first, now[i].second);
        }
        return s;
      },
      params);
}

}  // namespace frazil
