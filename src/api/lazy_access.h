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
    lazy::retain(ref.node);
    array.node_ = ref.node;
    array.output_ = ref.output;
    return array;
  }
  static lazy::Place place(const Operand& operand) { return {operand.line_.file, operand.line_.number}; }
  static const LazyArray* array_of(const Operand& operand) { return operand.array_; }
  /// Returns the number as a literal of this element type. Without one, integers become i64 and other numbers f32.
  static lazy::Handle literal(const Operand& operand, std::optional<Elem> elem);
};

/// Records an operation at the line of its first operand. Numbers take the element type of the arrays.
lazy::Handle record(const lazy::Operation& operation, std::span<const Operand> operands);
/// Returns the results of a node.
std::vector<LazyArray> results_of(const lazy::Handle& handle, std::size_t count);
/// Sets up programs of recorded operators from the environment, unless set_lazy_options() was called.
void start_lazy();
/// Returns the element type of a value. Runs the operators that it depends on if only a run determines it.
Elem elem_of(const lazy::Ref& ref);

}  // namespace frazil::api
