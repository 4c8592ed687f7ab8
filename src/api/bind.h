#pragma once

#include <string>
#include <vector>

#include "api/access.h"

namespace frazil::api {

/// The operator's attributes with the given ones set; throws, `what` in front, for an unknown or missing one or a wrong
/// kind. An integer is taken for a real number.
Attrs bind_attributes(const OpDef& op, const Attributes& given, const std::string& what);

/// The value in the kind that the operator's attribute has, where it means the same.
AttrValue fitted_attribute(const OpDef& op, std::string_view name, const Attribute& value);

/// Throws unless a region node may be opened on these inputs with that many bodies.
void check_region(const Graph& graph, const OpDef& op, const std::vector<Value>& inputs, std::size_t bodies,
                  const std::string& what);

/// Terms of the node's outputs, which get the node's name.
std::vector<Term> name_results(Builder& builder, NodeId node, std::string_view name);

}  // namespace frazil::api
