#include "server/model/request_shapes.h"

#include <algorithm>

#include <frazil/error.h>

#include "server/core/message.h"
#include "server/core/port.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Port;
using api::Sizes;

std::string text_of_sizes(std::span<const std::int64_t> sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) (text += text.size() == 1 ? "" : ",") += std::to_string(size);
  return text + "]";
}

std::string names_of(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports) ((text += text.empty() ? "'" : ", '") += port.name) += '\'';
  return text.empty() ? "none" : text;
}

bool may_be(const Sizes& declared, const Sizes& own) {
  return declared.size() == own.size() &&
         std::ranges::equal(declared, own, [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; });
}

/// Checks the declarations of the inputs or of the outputs.
class Declarations {
 public:
  Declarations(const std::string& model, std::string kind, const std::vector<Port>& ports)
      : model_(model), kind_(std::move(kind)), ports_(ports) {}

  /// Returns the index of the declared port. Throws if the declaration does not match it.
  std::size_t find(const DeclaredPort& declared, bool batched) const {
    const auto at = position_of(ports_, declared.name);
    if (!at) fail(declared, "the model has no such " + kind_ + "; expected one of " + names_of(ports_));
    const Port& port = ports_[*at];
    const std::string_view datatype = protocol_datatype(port);
    if (!declared.datatype.empty() && declared.datatype != datatype) {
      fail(declared, "expected the model's datatype " + std::string(datatype) + ", got " + declared.datatype);
    }
    if (port.kind != Array::Kind::tensor || !port.ranked) return *at;
    const Sizes own = protocol_shape(port);
    if (batched && (own.empty() || own.front() >= 0)) {
      fail(declared,
           "it is " + port.type + " in the model: expected a max_batch_size of 0, as its first extent is fixed");
    }
    if (declared.has_shape && !may_be(declared.shape, own)) {
      fail(declared,
           "expected dims that fit the model's shape " + text_of_sizes(own) + ", got " + text_of_sizes(declared.shape));
    }
    return *at;
  }

 private:
  [[noreturn]] void fail(const DeclaredPort& declared, const std::string& why) const {
    throw api::Error(api::Code::bad_input, "model '" + model_ + "': config.pbtxt, line " +
                                               std::to_string(declared.line) + ": " + kind_ + " '" + declared.name +
                                               "': " + why);
  }

  const std::string& model_;
  const std::string kind_;
  const std::vector<Port>& ports_;
};

}  // namespace

RequestShapes::RequestShapes(const std::string& model, const ModelConfig& config, const std::vector<Port>& inputs,
                             const std::vector<Port>& outputs)
    : most_(config.max_in_request) {
  const bool batched = most_ > 0;
  const Declarations of_inputs(model, "input", inputs), of_outputs(model, "output", outputs);
  for (const DeclaredPort& declared : config.outputs) (void)of_outputs.find(declared, batched);
  for (const DeclaredPort& declared : config.inputs) {
    rules_.push_back({.input = of_inputs.find(declared, batched),
                      .name = declared.name,
                      .extents = Sizes(declared.shape.begin(), declared.shape.end()),
                      .batched = batched});
  }
  if (!batched || !rules_.empty()) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool varies = !inputs[i].dims.empty() && !fixed_extent(inputs[i].dims.front());
    if (varies) rules_.push_back({.input = i, .name = inputs[i].name, .extents = {}, .batched = true});
  }
}

void RequestShapes::check(std::span<const Array> inputs) const {
  for (const Rule& rule : rules_) {
    const Array& value = inputs[rule.input];
    if (value.is_tensor()) check(rule, value);
  }
}

void RequestShapes::check(const Rule& rule, const Array& value) const {
  const Sizes& sizes = value.sizes();
  if (!rule.extents.empty() && !may_be(rule.extents, sizes)) {
    throw Refusal::plain(Http::bad_request, "input '" + rule.name + "': expected the shape " +
                                                text_of_sizes(rule.extents) + " that config.pbtxt declares, got " +
                                                text_of_sizes(sizes));
  }
  if (rule.batched && !sizes.empty() && static_cast<std::uint64_t>(sizes.front()) > most_) {
    throw Refusal::plain(Http::bad_request, "input '" + rule.name + "': a batch of " + std::to_string(sizes.front()) +
                                                ", max_batch_size is " + std::to_string(most_));
  }
}

}  // namespace frazil::server
