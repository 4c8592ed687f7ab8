#include "onnx/import/attributes.h"

#include <unordered_set>

namespace frazil::onnx {

Result<std::vector<NamedAttr>> decode_attributes(const Source& source, const NameContext& cx, const NodeParts& node,
                                                 RepeatedBytes& repeated) {
  std::vector<NamedAttr> attrs;
  std::unordered_set<std::string_view> names;
  for (const Bytes bytes : node.attributes) {
    auto read = read_attribute(source, bytes);
    if (!read) return at_node(describe(cx, node), std::move(read).error());
    const std::string_view name = read->attr.name;
    if (!names.insert(name).second) {
      return fail_at(describe(cx, node), Code::bad_model, "attribute '{}' is given twice", proto::shown(name));
    }
    if (read->ref.empty()) {
      attrs.push_back(std::move(read->attr));
      continue;
    }
    if (cx.function == nullptr) {
      return fail_at(describe(cx, node), Code::bad_model,
                     "attribute '{}' refers to a function's attribute outside of a function", proto::shown(name));
    }
    const auto given = cx.attrs.find(read->ref);
    if (given == cx.attrs.end()) continue;
    FRAZIL_CHECK(repeated.add(given->second.bytes()));
    attrs.push_back({name, given->second.value});
  }
  return attrs;
}

Result<std::map<std::string_view, NamedAttr>> call_attributes(const Source& source,
                                                              const std::shared_ptr<NameContext>& cx,
                                                              const NodeParts& node, const FunctionParts& function,
                                                              RepeatedBytes& repeated) {
  FRAZIL_TRY(std::vector<NamedAttr> given, decode_attributes(source, *cx, node, repeated));
  std::map<std::string_view, NamedAttr> attrs;
  for (const Bytes bytes : function.defaults) {
    auto read = read_attribute(source, bytes);
    if (!read) return at_node(describe(*cx, node), std::move(read).error());
    attrs.try_emplace(read->attr.name, std::move(read->attr));
  }
  const std::unordered_set<std::string_view> known(function.attributes.begin(), function.attributes.end());
  for (NamedAttr& attr : given) {
    if (!known.contains(attr.name) && !attrs.contains(attr.name)) {
      const std::string fault = fmt::format("the function has no attribute '{}'", proto::shown(attr.name));
      if (!source.ignored) return fail_at(describe(*cx, node), Code::bad_model, "{}", fault);
      source.ignored(fmt::format("{}: {}; only nodes that refer to it use it", describe(*cx, node), fault));
    }
    auto* graph = std::get_if<GraphAttr>(&attr.value);
    if (graph != nullptr && !graph->scope) graph->scope = cx;
    attrs.insert_or_assign(attr.name, std::move(attr));
  }
  return attrs;
}

}  // namespace frazil::onnx
