#include "tool/view_graph.h"

#include <set>

#include "ir/op/op.h"
#include "plan/analyse/cost.h"
#include "profile/labels.h"

namespace frazil::tool {
namespace {

std::string value_id(Value value) { return std::to_string(value.id); }

Json json_of_attribute(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Tensor>) {
          return v.defined() ? fmt::format("{} {}", v.type_str(), summary(v)) : "";
        } else {
          return v;
        }
      },
      value);
}

/// Returns the attributes that differ from their defaults.
Json attributes_of(const Node& node) {
  Json json = Json::object();
  const Attrs defaults = default_attrs(*node.op);
  for (const AttrField& field : node.op->attrs.fields) {
    const auto value = field.get(node.attrs.get()), usual = field.get(defaults.get());
    if (value && (field.required || !usual || !same(*value, *usual)))
      json[std::string(field.name)] = json_of_attribute(*value);
  }
  return json;
}

/// Returns the name of operand `i`; operands of variadic ports are numbered.
std::string port_name(std::span<const frazil::Port> ports, std::size_t i) {
  if (ports.empty()) return "";
  if (i < ports.size()) return std::string(ports[i].name);
  return fmt::format("{}{}", ports.back().name, i - ports.size() + 1);
}

class GraphWriter {
 public:
  explicit GraphWriter(const debug::Sites& sites) : sites_(sites), graph_(sites.graph()) {}

  Json write() {
    for (std::size_t s = 0; s < sites_.size(); ++s) {
      if (sites_[s].node) add_node(s);
    }
    json_["name"] = graph_.name;
    json_["inputs"] = list(graph_.main().params);
    json_["outputs"] = Json::array();
    const auto& results = graph_.main().results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      json_["outputs"].push_back({{"name", graph_.output_names()[i]}, {"value", value_id(results[i])}});
      add_value(results[i]);
    }
    json_["values"] = std::move(values_);
    json_["nodes"] = std::move(nodes_);
    json_["containers"] = std::move(containers_);
    return std::move(json_);
  }

 private:
  void add_node(std::size_t site) {
    const NodeId id = sites_[site].node;
    if (!done_.insert(id.id).second) return;
    const Node& node = graph_.node(id);
    add_containers(site);
    Json json{{"id", node_id(id)}, {"name", node.name}, {"op", node.op->name}, {"domain", node.op->domain}};
    json["ports"] = Json::array();
    for (std::size_t i = 0; i < node.in.size(); ++i) json["ports"].push_back(port_name(node.op->inputs, i));
    json["in"] = list(node.in);
    json["out"] = list(node.out);
    json["attributes"] = attributes_of(node);
    if (const debug::Path& path = sites_.path(site); !path.empty()) json["inside"] = container_id(path.back());
    json["bodies"] = Json::array();
    for (const BlockId body : node.blocks) {
      json["bodies"].push_back(container_id(body.id));
      add_body(id, body);
    }
    nodes_.push_back(std::move(json));
  }

  /// Adds the bodies and functions that enclose a value.
  void add_containers(std::size_t site) {
    const debug::Path& path = sites_.path(site);
    for (std::size_t i = 0; i < path.size(); ++i) {
      Json& json = container(path[i]);
      if (i > 0) json["inside"] = container_id(path[i - 1]);
    }
  }

  /// Adds a body, even if it has no node.
  void add_body(NodeId owner, BlockId body) {
    Json& json = container(body.id);
    json["owner"] = node_id(owner);
    json["parameters"] = list(graph_.block(body).params);
    json["results"] = list(graph_.block(body).results);
  }

  Json& container(std::uint64_t part) {
    const auto [at, is_new] = container_at_.try_emplace(part, containers_.size());
    if (is_new) {
      containers_.push_back({{"id", container_id(part)},
                             {"title", sites_.title(part)},
                             {"parameters", Json::array()},
                             {"results", Json::array()}});
    }
    return containers_[at->second];
  }

  static std::string container_id(std::uint64_t part) {
    return debug::is_function(part) ? fmt::format("f{}", static_cast<std::uint32_t>(part)) : fmt::format("b{}", part);
  }

  Json list(const std::vector<Value>& values) {
    Json json = Json::array();
    for (const Value v : values) {
      json.push_back(v ? Json(value_id(v)) : Json());
      if (v) add_value(v);
    }
    return json;
  }

  void add_value(Value v) {
    const std::string id = value_id(v);
    if (values_.contains(id)) return;
    Json json{{"name", graph_.value_name(v)}, {"type", str(graph_.type(v), graph_.scope())}};
    if (const Constant* constant = graph_.constant(v)) {
      json["constant"] = one_line(summary(constant->tensor));
    } else {
      const auto producer = graph_.producer(v);
      json["from"] = producer ? node_id(*producer) : id;
    }
    values_[id] = std::move(json);
  }

  const debug::Sites& sites_;
  const Graph& graph_;
  std::set<std::uint32_t> done_;
  std::unordered_map<std::uint64_t, std::size_t> container_at_;
  Json json_ = Json::object(), values_ = Json::object(), nodes_ = Json::array(), containers_ = Json::array();
};

/// Returns the origins in the user's graph, without duplicates.
Json origins_of(const Plan& plan, const std::vector<NodeId>& members, const Origins& origins) {
  Json json = Json::array();
  std::set<std::uint32_t> done;
  for (const NodeId member : members) {
    const auto origin = origins.of(plan.graph->node(member));
    if (origin && done.insert(origin->id).second) json.push_back(node_id(*origin));
  }
  return json;
}

}  // namespace

std::string node_id(NodeId node) { return fmt::format("n{}", node.id); }

Json graph_json(const debug::Sites& sites) { return GraphWriter(sites).write(); }

Origins::Origins(const Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    by_stable_.emplace(node.stable, id);
    if (node.name.empty()) continue;
    const auto [at, is_new] = by_name_.try_emplace(node.name, id);
    if (!is_new) at->second.reset();
  }
}

std::optional<NodeId> Origins::of(const Node& node) const {
  if (const auto at = by_stable_.find(node.stable); at != by_stable_.end()) return at->second;
  const auto at = by_name_.find(node.name);
  return at == by_name_.end() ? std::nullopt : at->second;
}

Json plan_json(const Plan& plan, const Origins& origins) {
  Json steps = Json::array(), apart = Json::array();
  for (const Step& step : plan.steps) {
    if (step.as<step::Launch>() == nullptr) continue;
    steps.push_back({{"kernel", profile::kernel_name(plan, step)},
                     {"ops", profile::op_label(plan, step)},
                     {"nodes", origins_of(plan, members_of(step), origins)}});
  }
  for (const Plan::Rejection& r : plan.rejections) {
    const auto producer = origins.of(plan.graph->node(r.producer)), node = origins.of(plan.graph->node(r.node));
    if (!producer || !node || *producer == *node) continue;
    apart.push_back({{"producer", node_id(*producer)}, {"node", node_id(*node)}, {"why", r.why}});
  }
  return {{"steps", std::move(steps)}, {"apart", std::move(apart)}};
}

}  // namespace frazil::tool
