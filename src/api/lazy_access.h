#pragma once

#include <span>
#include <vector>

#include <frazil/lazy.h>

#include "lazy/record/node.h"

namespace frazil::api {

/// The only friend of the classes of lazy arrays.
struct LazyAccess {
  static lazy::Ref ref(const LazyArray& array) { return {static_cast<lazy::Node*>(array.node_), array.output_}; }
  static LazyArray array(lazy::Ref ref) {
    LazyArray array;
    lazy::keep(ref.node);
    array.node_ = ref.node;
    array.output_ = ref.output;
    return array;
  }
  static lazy::Place place(const Operand& operand) { return {operand.line_.file, operand.line_.number}; }
  static const LazyArray* array_of(const Operand& operand) { return operand.array_; }
  /// The number as a literal of this element type; as it was written where there is none.
  static lazy::Handle literal(const Operand& operand, std::optional<Elem> elem);
};

/// Records an operation at the line of its first operand; numbers take the element type of the arrays.
lazy::Handle record(const lazy::Operation& operation, std::span<const Operand> operands);
/// The results of a node.
std::vector<LazyArray> results_of(const lazy::Handle& handle, std::size_t count);
/// Has programs of recorded operators run as the environment says, unless set_lazy_options() was called.
void start_lazy();
/// The element type of a value; runs what it depends on where only a run tells.
Elem elem_of(const lazy::Ref& ref);

}  // namespace frazil::api
