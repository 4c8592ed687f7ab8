#include "server/pipeline/lowering.h"

#include <algorithm>

#include "server/pipeline/pipeline_graph.h"

namespace frazil::server {

Lowering Lowering::inside(api::Body& body) const {
  Lowering inner = *this;
  inner.body_ = &body;
  return inner;
}

std::vector<api::Term> Lowering::values(const std::vector<Slot>& slots) const {
  std::vector<api::Term> terms;
  for (const Slot& slot : slots) terms.push_back(value(slot));
  return terms;
}

void Lowering::define(const std::vector<Slot>& slots, std::span<const api::Term> terms) {
  for (std::size_t i = 0; i < slots.size(); ++i) values_[slots[i].id] = terms[i];
}

Formula::Decision Lowering::decision(const Formula& formula) const {
  return formula.decision(*body_, [this](const Slot& slot) { return value(slot); });
}

api::Term Lowering::value(const Formula& formula) const {
  return formula.value(*body_, [this](const Slot& slot) { return value(slot); });
}

std::vector<api::Term> Lowering::block(const Block& block) {
  for (const NodePtr& node : block.nodes) node->lower(*this);
  return values(block.results);
}

std::vector<api::Term> Lowering::step(const Node& node, std::vector<api::Term> operands,
                                      const std::vector<Slot>& results) {
  std::vector<std::string> types;
  for (const Slot& slot : results) types.emplace_back(api::name_of(slot.dtype));
  return add(node, kWhole, std::move(operands), std::move(types));
}

std::vector<api::Term> Lowering::part(const Node& node, std::int64_t part, std::vector<api::Term> operands,
                                      const std::vector<api::Dtype>& results) {
  std::vector<std::string> types;
  for (const api::Dtype dtype : results) types.push_back(std::string(api::name_of(dtype)) + "[]");
  return add(node, part, std::move(operands), std::move(types));
}

std::vector<api::Term> Lowering::add(const Node& node, std::int64_t part, std::vector<api::Term> operands,
                                     std::vector<std::string> types) {
  const auto at = std::ranges::find(*nodes_, &node);
  const auto number = at - nodes_->begin();
  if (at == nodes_->end()) nodes_->push_back(&node);
  const std::size_t results = types.size();
  if (types.empty()) types.emplace_back("bool[]");  // a node needs an output
  const api::Attributes attributes{{"step", number}, {"part", part}, {"results", std::move(types)}};
  std::vector<api::Term> made =
      body_->ops(kStepOperator, operands, attributes, std::max<std::size_t>(results, 1), node.name());
  made.resize(results);
  return made;
}

}  // namespace frazil::server
