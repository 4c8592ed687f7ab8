#include <atomic>

#include "api/c/handles.h"

namespace frazil::api::c {
namespace {

/// The terms of a graph and of its bodies. A handle consists of the graph's number and an index in `terms`, so that
/// graphs have different handles.
struct Terms {
  std::uint64_t serial;
  std::vector<Term> terms;
};

std::uint64_t next_serial() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

}  // namespace
}  // namespace frazil::api::c

struct frazil_graph {
  std::unique_ptr<frazil::api::GraphBuilder> builder;
  std::unique_ptr<frazil::api::Patch> patch;
  frazil::api::Body* body = nullptr;
  std::shared_ptr<frazil::api::c::Terms> terms;
};

namespace frazil::api::c {
namespace {

std::unique_ptr<frazil_graph> new_graph() {
  auto graph = std::make_unique<frazil_graph>();
  graph->terms = std::make_shared<Terms>(Terms{next_serial(), {}});
  return graph;
}

frazil_graph& graph_of(frazil_graph* graph) { return need(graph, "the graph"); }

GraphBuilder& builder_of(frazil_graph* graph) {
  if (!graph_of(graph).builder) refuse("this needs a graph from frazil_graph_new");
  return *graph->builder;
}

Patch& patch_of(frazil_graph* graph) {
  if (!graph_of(graph).patch) refuse("this needs a patch from frazil_patch_new");
  return *graph->patch;
}

frazil_term handle_of(frazil_graph& graph, Term term) {
  if (!term) return 0;
  auto& terms = graph.terms->terms;
  terms.push_back(term);
  return graph.terms->serial << 32 | terms.size();
}

Term term_of(const frazil_graph& graph, frazil_term handle) {
  if (handle == 0) return {};
  const std::uint64_t index = handle & 0xffffffffU;
  if (handle >> 32 != graph.terms->serial) refuse("a term belongs to another graph or patch");
  if (index == 0 || index > graph.terms->terms.size()) refuse("there is no such term");
  return graph.terms->terms[index - 1];
}

std::vector<Term> terms_of(const frazil_graph& graph, const frazil_term* handles, std::size_t count) {
  std::vector<Term> terms;
  for (const frazil_term handle : need(handles, count, "the terms")) terms.push_back(term_of(graph, handle));
  return terms;
}

/// Parses an extent: "3" or "N".
Extent extent_of(const char* dim) {
  constexpr std::size_t kMaxDigits = 18;
  const std::string text = text_of(dim, "an extent");
  if (text.empty()) refuse("an extent is a number or a symbol, got ''");
  if (text.find_first_not_of("0123456789") != std::string::npos) return text;
  if (text.size() > kMaxDigits) refuse("the extent " + text + " is too large");
  return std::stoll(text);
}

Body::Region region_of(const frazil_graph& outer, const frazil_region& given) {
  if (given.fill == nullptr) refuse("a region's fill function is null");
  return {given.params, [&outer, &given](Body& body, std::span<const Term> params) {
            frazil_graph inner;
            inner.body = &body;
            inner.terms = outer.terms;
            std::vector<frazil_term> in, out(given.results, 0);
            for (const Term param : params) in.push_back(handle_of(inner, param));
            const frazil_code code = given.fill(given.context, &inner, in.data(), in.size(), out.data(), out.size());
            if (code != FRAZIL_OK) throw Error(code_from(code), "a region's fill function failed");
            return terms_of(inner, out.data(), out.size());
          }};
}

/// The operands of a call, copied because the call may store its outputs in their place.
class Operands {
 public:
  Operands(const frazil_term* handles, std::size_t count) : handles_(handles), count_(count) {
    if (handles != nullptr) copies_.assign(handles, handles + count);
  }
  std::vector<Term> in(const frazil_graph& graph) const {
    (void)need(handles_, count_, "the operands");
    return terms_of(graph, copies_.data(), copies_.size());
  }

 private:
  const frazil_term* handles_;
  std::size_t count_;
  std::vector<frazil_term> copies_;
};

void store(frazil_graph& graph, const std::vector<Term>& terms, std::span<frazil_term> outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = handle_of(graph, terms[k]);
}

std::span<frazil_term> cleared(frazil_term* outputs, std::size_t count) {
  const auto to = need(outputs, count, "the outputs");
  for (frazil_term& term : to) term = 0;
  return to;
}

}  // namespace
}  // namespace frazil::api::c

using namespace frazil::api;     // NOLINT(google-build-using-namespace)
using namespace frazil::api::c;  // NOLINT(google-build-using-namespace)

frazil_code frazil_graph_new(const char* name, frazil_graph** graph, frazil_error** error) {
  return guarded(error, [&] {
    frazil_graph*& to = result(graph);
    auto made = new_graph();
    made->builder = std::make_unique<GraphBuilder>(text_of(name, "the name"));
    made->body = made->builder.get();
    to = made.release();
  });
}

frazil_code frazil_patch_new(const frazil_model* model, const char* name, frazil_graph** patch, frazil_error** error) {
  return guarded(error, [&] {
    frazil_graph*& to = result(patch);
    auto made = new_graph();
    made->patch = std::make_unique<Patch>(need(model, "the model").model, text_of(name, "the name"));
    made->body = made->patch.get();
    to = made.release();
  });
}

void frazil_graph_free(frazil_graph* graph) { delete graph; }

frazil_code frazil_graph_input(frazil_graph* graph, const char* name, frazil_dtype dtype, const char* const* dims,
                               size_t rank, frazil_term* term, frazil_error** error) {
  return guarded(error, [&] {
    frazil_term& to = result(term);
    std::vector<Extent> extents;
    for (const char* dim : need(dims, rank, "the extents")) extents.push_back(extent_of(dim));
    const std::string as = text_of(name, "the name");
    const Dtype type = c::dtype_of(dtype);
    to = handle_of(*graph, graph_of(graph).patch ? graph->patch->input(as, type, extents)
                                                 : builder_of(graph).input(as, type, extents));
  });
}

frazil_code frazil_graph_output(frazil_graph* graph, const char* name, frazil_term term, frazil_error** error) {
  return guarded(error, [&] {
    const Term value = term_of(graph_of(graph), term);
    const std::string as = text_of(name, "the name");
    if (graph->patch) return graph->patch->add_output(as, value);
    builder_of(graph).output(as, value);
  });
}

frazil_code frazil_graph_constant(frazil_graph* graph, const frazil_array* value, const char* name, frazil_term* term,
                                  frazil_error** error) {
  return guarded(error, [&] {
    frazil_term& to = result(term);
    to = handle_of(*graph, graph_of(graph).body->constant(array_of(value, "the value"), text_or_none(name)));
  });
}

frazil_code frazil_graph_op(frazil_graph* graph, const char* op, const frazil_term* inputs, size_t input_count,
                            const frazil_attribute* attributes, size_t attribute_count, const char* name,
                            frazil_term* outputs, size_t output_count, frazil_error** error) {
  return guarded(error, [&] {
    const Operands operands(inputs, input_count);
    const auto to = cleared(outputs, output_count);
    if (output_count == 0) refuse("a node has at least one output");
    frazil_graph& in = graph_of(graph);
    store(in,
          in.body->ops(text_of(op, "the operator"), operands.in(in), attributes_of(attributes, attribute_count),
                       output_count, text_or_none(name)),
          to);
  });
}

frazil_code frazil_graph_region(frazil_graph* graph, const char* op, const frazil_term* inputs, size_t input_count,
                                const frazil_region* regions, size_t region_count, const frazil_attribute* attributes,
                                size_t attribute_count, const char* name, frazil_term* outputs, size_t output_count,
                                frazil_error** error) {
  return guarded(error, [&] {
    const Operands operands(inputs, input_count);
    const auto to = cleared(outputs, output_count);
    frazil_graph& in = graph_of(graph);
    std::vector<Body::Region> bodies;
    for (const frazil_region& region : need(regions, region_count, "the regions")) {
      bodies.push_back(region_of(in, region));
    }
    store(in,
          in.body->region(text_of(op, "the operator"), operands.in(in), bodies,
                          attributes_of(attributes, attribute_count), output_count, text_or_none(name)),
          to);
  });
}

frazil_code frazil_graph_type(const frazil_graph* graph, frazil_term term, char** type, frazil_error** error) {
  return guarded(error, [&] {
    char*& to = result(type);
    const frazil_graph& in = need(graph, "the graph");
    to = copy_text(in.body->type(term_of(in, term)));
  });
}

frazil_code frazil_graph_build(frazil_graph* graph, frazil_model** model, frazil_error** error) {
  return guarded(error, [&] {
    frazil_model*& to = result(model);
    frazil_graph& in = graph_of(graph);
    to = new frazil_model(in.patch ? in.patch->commit() : builder_of(graph).build());
  });
}

frazil_code frazil_patch_tap(frazil_graph* patch, const char* value, frazil_term* term, frazil_error** error) {
  return guarded(error, [&] {
    frazil_term& to = result(term);
    to = handle_of(*patch, patch_of(patch).tap(text_of(value, "the value's name")));
  });
}

frazil_code frazil_patch_replace(frazil_graph* patch, const char* value, frazil_term with, frazil_error** error) {
  return guarded(error, [&] { patch_of(patch).replace(text_of(value, "the value's name"), term_of(*patch, with)); });
}

frazil_code frazil_patch_remove(frazil_graph* patch, const char* node, frazil_error** error) {
  return guarded(error, [&] { patch_of(patch).remove(text_of(node, "the node's name")); });
}

frazil_code frazil_patch_set_attribute(frazil_graph* patch, const char* node, const frazil_attribute* attribute,
                                       frazil_error** error) {
  return guarded(error, [&] {
    const frazil_attribute& given = need(attribute, "the attribute");
    patch_of(patch).set_attribute(text_of(node, "the node's name"), text_of(given.name, "an attribute's name"),
                                  value_of(given));
  });
}

frazil_code frazil_patch_remove_output(frazil_graph* patch, const char* name, frazil_error** error) {
  return guarded(error, [&] { patch_of(patch).remove_output(text_of(name, "the name")); });
}
