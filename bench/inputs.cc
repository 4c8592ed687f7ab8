#include "bench/inputs.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "bench/convert.h"
#include "bench/random.h"

namespace bench {
namespace {

struct Range {
  double low, high;
};

[[noreturn]] void fail(const Port& port, const std::string& spec, const std::string& what) {
  throw std::runtime_error("input " + port.name + "=" + spec + ": " + what);
}

template <class Visitor>
bool visit_elem(Elem elem, Visitor visitor) {
  switch (elem) {
    case Elem::f32: return visitor(float{}), true;
    case Elem::f64: return visitor(double{}), true;
    case Elem::i8: return visitor(std::int8_t{}), true;
    case Elem::i16: return visitor(std::int16_t{}), true;
    case Elem::i32: return visitor(std::int32_t{}), true;
    case Elem::i64: return visitor(std::int64_t{}), true;
    case Elem::u8: return visitor(std::uint8_t{}), true;
    case Elem::u16: return visitor(std::uint16_t{}), true;
    case Elem::u32: return visitor(std::uint32_t{}), true;
    case Elem::u64: return visitor(std::uint64_t{}), true;
    case Elem::boolean: return visitor(bool{}), true;
    default: return false;
  }
}

template <class T>
T draw(Random& random, const std::optional<Range>& range) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(range ? range->low + (range->high - range->low) * random.uniform() : random.normal());
  } else {
    if (!range) return static_cast<T>(random.bits() >> 63);
    return static_cast<T>(std::floor(range->low + (range->high - range->low) * random.uniform()));
  }
}

HostTensor filled(const Port& port, const std::string& spec, Dims dims, std::uint64_t seed,
                  const std::optional<Range>& range) {
  HostTensor tensor(port.elem, std::move(dims));
  Random random(seed, port.name);
  bool known = visit_elem(port.elem, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.as<T>()[i] = draw<T>(random, range);
  });
  if (!known) fail(port, spec, "no random values for this element type");
  return tensor;
}

Dims declared_dims(const Port& port) {
  Dims dims = port.dims;
  for (std::int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
  return dims;
}

std::int64_t parse_extent(const Port& port, const std::string& spec, std::string_view text, std::uint64_t seed) {
  const auto number = [&](std::string_view digits) {
    std::int64_t value = 0;
    auto [next, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || next != digits.data() + digits.size() || value < 0) fail(port, spec, "not dims");
    return value;
  };
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return number(text);
  const Range range{static_cast<double>(number(text.substr(0, dots))),
                    static_cast<double>(number(text.substr(dots + 2)))};
  Random random(seed, "extent");  // the same for all inputs
  return draw<std::int64_t>(random, range);
}

Dims parse_dims(const Port& port, const std::string& spec, std::string_view text, std::uint64_t seed) {
  Dims dims;
  if (text == "scalar") return dims;
  for (;;) {
    const std::size_t end = text.find('x');
    dims.push_back(parse_extent(port, spec, text.substr(0, end), seed));
    if (end == text.npos) return dims;
    text.remove_prefix(end + 1);
  }
}

double parse_number(const Port& port, const std::string& spec, std::string_view text) {
  double value = 0;
  auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || next != text.data() + text.size()) fail(port, spec, "not a number");
  return value;
}

HostTensor constant(const Port& port, const std::string& spec, double value) {
  HostTensor tensor(port.elem, declared_dims(port));
  bool known = visit_elem(port.elem, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor.as<T>()[i] = static_cast<T>(value);
  });
  if (!known) fail(port, spec, "cannot fill this element type");
  return tensor;
}

}  // namespace

HostTensor random_input(const Port& port, std::uint64_t seed) {
  return filled(port, "random", declared_dims(port), seed, std::nullopt);
}

HostTensor make_input(const Port& port, const std::string& spec, std::uint64_t seed) {
  if (spec.ends_with(".npy")) {
    HostTensor tensor = read_npy(spec);
    if (tensor.elem != port.elem) {
      fail(port, spec, std::string("is ") + elem_name(tensor.elem) + ", the model wants " + elem_name(port.elem));
    }
    return tensor;
  }
  if (spec.starts_with('=')) return constant(port, spec, parse_number(port, spec, std::string_view(spec).substr(1)));

  std::string_view text = spec;
  std::optional<Range> range;
  if (std::size_t colon = text.find(':'); colon != text.npos) {
    std::string_view bounds = text.substr(colon + 1);
    std::size_t dots = bounds.find("..");
    if (dots == bounds.npos) fail(port, spec, "a range is LOW..HIGH");
    range = Range{parse_number(port, spec, bounds.substr(0, dots)), parse_number(port, spec, bounds.substr(dots + 2))};
    text = text.substr(0, colon);
  }
  return filled(port, spec, parse_dims(port, spec, text, seed), seed, range);
}

void add_input_spec(InputSpecs& specs, std::string_view text) {
  std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) throw std::runtime_error("not NAME=SPEC: " + std::string(text));
  specs[std::string(text.substr(0, equals))] = text.substr(equals + 1);
}

}  // namespace bench
