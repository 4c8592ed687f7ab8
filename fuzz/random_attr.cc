#include "random_attr.h"

#include <limits>
#include <numeric>

#include "random_value.h"

namespace frazil::fuzz {
namespace {

/// Words of an attribute's description: they name the values that it takes.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

std::string random_word(const AttrField& field, Choices& choices) {
  static const std::vector<const OpDef*> ops = OpRegistry::global().all();
  switch (choices.weighted({80, 15, 5})) {
    case 0: return choices.pick(words_of(field.doc));
    case 1: return std::string(choices.pick(ops)->name);
    default: return "";
  }
}

std::int64_t random_integer(std::string_view doc, Choices& choices) {
  if (doc.contains("ONNX")) return choices.between(0, 24);
  switch (choices.weighted({40, 50, 5})) {
    case 0: return choices.between(0, 1);
    case 1: return choices.between(-3, 5);
    default:
      return choices.pick({std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                           std::int64_t{1} << 32, std::int64_t{1} << 61, std::int64_t{-100}, std::int64_t{1000}});
  }
}

float random_real(Choices& choices) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  if (choices.chance(85)) return choices.pick({0.0f, 1.0f, 0.5f, 2.0f, 1e-5f, 3.0f, -1.0f, 0.25f});
  return choices.pick({-0.5f, kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 1e30f, 1e-40f});
}

Tensor random_element(Choices& choices) {
  const auto elem = static_cast<Elem>(choices.below(kElemCount));
  return random_tensor(elem, choices.chance(80) ? Sizes{1} : Sizes{choices.between(0, 2)}, random_look(choices),
                       choices);
}

template <class T, class Make>
std::vector<T> list(std::size_t count, Make make) {
  std::vector<T> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(make());
  return all;
}

AttrValue random_value(const AttrField& field, std::size_t rank, Choices& choices) {
  switch (field.kind) {
    case AttrKind::integer: return random_integer(field.doc, choices);
    case AttrKind::real: return random_real(choices);
    case AttrKind::string: return random_word(field, choices);
    case AttrKind::integers: return random_ints(rank, choices);
    case AttrKind::reals: return list<float>(choices.below(4), [&] { return random_real(choices); });
    case AttrKind::strings: return list<std::string>(choices.below(4), [&] { return random_word(field, choices); });
    case AttrKind::tensor: return random_element(choices);
  }
  return std::int64_t{0};
}

std::size_t random_count(std::size_t rank, Choices& choices) {
  const std::size_t inner = rank > 2 ? rank - 2 : 0;
  switch (choices.weighted({25, 20, 15, 10, 20, 10})) {
    case 0: return rank;
    case 1: return inner;
    case 2: return 2 * inner;
    case 3: return 2 * rank;
    case 4: return 1;
    default: return choices.below(5);
  }
}

}  // namespace

Ints random_ints(std::size_t rank, Choices& choices) {
  Ints ints(random_count(rank, choices));
  const auto r = static_cast<std::int64_t>(rank);
  switch (choices.weighted({25, 15, 20, 15, 15, 5, 5})) {
    case 0:  // a permutation
      std::iota(ints.begin(), ints.end(), 0);
      for (std::size_t k = ints.size(); k > 1; --k) std::swap(ints[k - 1], ints[choices.below(k)]);
      return ints;
    case 1: std::ranges::fill(ints, 1); return ints;
    case 2: std::ranges::generate(ints, [&] { return choices.between(1, 3); }); return ints;
    case 3: std::ranges::generate(ints, [&] { return choices.between(-r, r); }); return ints;
    case 4: std::ranges::generate(ints, [&] { return choices.between(0, 2); }); return ints;
    case 5: std::ranges::generate(ints, [&] { return choices.between(-3, 8); }); return ints;
    default: std::ranges::generate(ints, [&] { return random_integer("", choices); }); return ints;
  }
}

bool is_always_given(const AttrField& field) { return field.required || field.name == "seed"; }

Attrs random_attrs(const OpDef& op, std::size_t rank, Choices& choices) {
  std::shared_ptr<void> attrs = op.attrs.make();
  for (const AttrField& field : op.attrs.fields) {
    if (!is_always_given(field) && choices.chance(60)) continue;
    if (!field.set(attrs.get(), random_value(field, rank, choices))) return nullptr;
  }
  return attrs;
}

}  // namespace frazil::fuzz
