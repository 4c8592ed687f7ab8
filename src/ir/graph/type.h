#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/value/elem.h"
#include "sym/dim.h"

namespace frazil {

using Shape = std::vector<Dim>;

/// The static type of a value: a tensor of an element type and a symbolic shape, or a sequence, optional or map. Layout
/// and device belong to the plan.
struct Type {
  enum class Kind : std::uint8_t { tensor, sequence, optional, map };

  Kind kind = Kind::tensor;
  Elem elem = Elem::f32;  ///< tensor: the element type; map: the key type
  bool ranked = true;     ///< tensor: false if the rank is unknown; `shape` is then empty
  Shape shape;
  std::shared_ptr<const Type> item;  ///< sequence, optional: the element; map: the value

  static Type tensor(Elem elem, Shape shape = {}) { return {Kind::tensor, elem, true, std::move(shape), nullptr}; }
  static Type unranked(Elem elem) { return {Kind::tensor, elem, false, {}, nullptr}; }
  static Type sequence(Type item);
  static Type optional(Type item);
  static Type map(Elem key, Type value);

  bool is_tensor() const { return kind == Kind::tensor; }
  std::size_t rank() const { return shape.size(); }
  /// Returns true for a tensor whose extents are all known to be 1.
  bool has_one_element() const;
  /// Compares structures. Dims compare as expressions.
  bool operator==(const Type& other) const;
};

/// Returns a text: "f32[N,3]", "f32[...]" (unranked), "seq<f32[N]>", "opt<...>", "map<i64, ...>".
std::string str(const Type& type, const Scope& scope);
/// Same, with "?" for each extent whose text has more than `most` characters.
std::string short_str(const Type& type, const Scope& scope, std::size_t most);

}  // namespace frazil
