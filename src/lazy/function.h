#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"
#include "lazy/counted.h"
#include "lazy/operation.h"

namespace frazil::lazy {

/// A graph that calls record as one node. Immutable; nodes own it, too.
class Function : public Counted {
 public:
  explicit Function(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))) {
    operation_ = {.id = next_operation_id(),
                  .outputs = static_cast<std::uint32_t>(graph_->main().results.size()),
                  .function = this};
  }

  const std::string& name() const { return graph_->name; }
  const Graph& graph() const { return *graph_; }
  const std::shared_ptr<const Graph>& shared_graph() const { return graph_; }
  const Operation& operation() const { return operation_; }

 private:
  std::shared_ptr<const Graph> graph_;
  Operation operation_;
};

}  // namespace frazil::lazy
