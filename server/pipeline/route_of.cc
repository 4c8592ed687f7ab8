#include "server/pipeline/route_of.h"

namespace frazil::server {
namespace {

std::vector<govern::RouteNode> route_nodes(const Block& block) {
  std::vector<govern::RouteNode> nodes;
  for (const NodePtr& node : block.nodes) {
    const NodeView view = node->view();
    govern::RouteNode made{.name = node->name(),
                           .kind = std::string(view.kind),
                           .model = view.target == nullptr ? "" : view.target->name(),
                           .version = view.target == nullptr ? "" : view.target->version(),
                           .endpoint = view.endpoint,
                           .most = view.most,
                           .branches = {}};
    for (const auto& branch : view.branches) made.branches.push_back({branch.rule, route_nodes(*branch.block)});
    nodes.push_back(std::move(made));
  }
  return nodes;
}

}  // namespace

govern::Route route_of(const Pipeline& pipeline) {
  return {pipeline.name(), pipeline.digest(), route_nodes(pipeline.block())};
}

}  // namespace frazil::server
