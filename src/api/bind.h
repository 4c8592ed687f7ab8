#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/access.h"

namespace frazil::api {

/// Returns the operator of this name, as Body::op takes it. Throws Code::unsupported, with similar names, if there is
/// none.
const OpDef& find_op(std::string_view name, const OpSet* own = nullptr);

/// Returns the operator's attributes with the given ones set. Throws, with `what` as prefix, for an unknown or missing
/// attribute or a wrong kind. An integer is accepted for a float.
Attrs bind_attributes(const OpDef& op, const Attributes& given, const std::string& what);

/// Returns the value in the kind of the operator's attribute, if the conversion keeps its meaning.
AttrValue fitted_attribute(const OpDef& op, std::string_view name, const Attribute& value);

/// Returns the value as users have it.
Attribute attribute_of(const AttrValue& value);

/// Throws unless a region node with these inputs and that many bodies is valid.
void check_region(const Graph& graph, const OpDef& op, const std::vector<Value>& inputs, std::size_t bodies,
                  const std::string& what);

/// Returns terms for the node's outputs, named after the node.
std::vector<Term> name_results(Builder& builder, NodeId node, std::string_view name);

}  // namespace frazil::api
