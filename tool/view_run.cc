#include "tool/view_run.h"

#include <map>
#include <set>

#include "plan/analyse/cost.h"

namespace frazil::tool {
namespace {

constexpr std::size_t kPasses = 8;

/// Stores the latest value of each watched value.
class LastValues : public exec::Observer {
 public:
  explicit LastValues(const debug::Sites& sites) : sites_(sites), seen_(sites.size()) {}

  std::span<const exec::WatchedValue> watched() const override { return sites_.watched(); }
  void value(std::size_t index, const Datum& value, std::span<const std::int64_t>) override {
    seen_[index].last = api::Access::array(value);
    ++seen_[index].count;
  }
  bool without(std::size_t index, std::string_view why) override {
    seen_[index].removed = why;
    return true;
  }

  Json json() const {
    Json json = Json::object();
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      const std::string id = std::to_string(sites_[i].value.id);
      if (seen_[i].count > 0) {
        Json entry = json_of(sites_[i].name, seen_[i].last);
        entry["summary"] = summary_of(seen_[i].last);
        entry["count"] = seen_[i].count;
        json[id] = std::move(entry);
      } else if (!seen_[i].removed.empty()) {
        json[id] = {{"removed", seen_[i].removed}};
      }
    }
    return json;
  }

 private:
  struct Seen {
    Array last{};
    std::uint64_t count = 0;
    std::string removed;
  };
  const debug::Sites& sites_;
  std::vector<Seen> seen_;
};

/// Sums over plans and passes.
class Totals {
 public:
  Totals(const profile::Recorder& recorder, const Origins& origins) : recorder_(recorder), origins_(origins) {
    const auto passes = recorder.fastest();
    passes_ = static_cast<double>(passes.size());
    for (const profile::PassTotals* pass : passes) add(*pass);
  }

  Json json() const {
    Json nodes = Json::object(), flows = Json::object();
    for (const auto& [node, t] : nodes_) nodes[node_id(node)] = {{"calls", t.calls / passes_}, {"us", t.us / passes_}};
    for (const auto& [node, flow] : flows_) {
      const auto per_pass = [&](std::uint64_t n) { return static_cast<double>(n) / passes_; };
      Json json{{"entries", per_pass(flow.totals.entries)}};
      if (flow.loop) json["iterations"] = per_pass(flow.totals.iterations);
      json["true"] = per_pass(flow.totals.yes);
      json["false"] = per_pass(flow.totals.no);
      flows[node_id(node)] = std::move(json);
    }
    return {{"total_us", us_ / passes_}, {"nodes", std::move(nodes)}, {"flows", std::move(flows)}};
  }

 private:
  void add(const profile::PassTotals& pass) {
    us_ += static_cast<double>(pass.ticks) * recorder_.clock().ns_per_tick() * 1e-3;
    for (std::size_t k = 0; k < pass.steps.size(); ++k) {
      const profile::PlanProfile& profile = *recorder_.plans()[k];
      for (std::size_t pc = 0; pc < pass.steps[k].size(); ++pc) {
        if (pass.steps[k][pc].calls > 0) add_step(profile.plan, profile.plan.steps[pc], pass.steps[k][pc]);
      }
      for (std::size_t i = 0; i < pass.flows[k].size(); ++i) {
        const auto node = origins_.of(profile.plan.graph->node(profile.spans[i].node));
        if (!node || pass.flows[k][i].entries == 0) continue;
        flows_[*node].loop = profile.spans[i].loop;
        flows_[*node].totals.add(pass.flows[k][i]);
      }
    }
  }

  void add_step(const Plan& plan, const Step& step, const profile::StepTotals& totals) {
    std::set<NodeId> done;
    for (const NodeId member : members_of(step)) {
      const auto node = origins_.of(plan.graph->node(member));
      if (!node || !done.insert(*node).second) continue;
      nodes_[*node].us += recorder_.clock().ns_of(totals.ticks, totals.calls, recorder_.clock().ns_per_tick()) * 1e-3;
      nodes_[*node].calls += static_cast<double>(totals.calls);
    }
  }

  struct NodeTotals {
    double calls = 0, us = 0;
  };
  struct Flow {
    bool loop = false;
    profile::FlowTotals totals;
  };
  const profile::Recorder& recorder_;
  const Origins& origins_;
  double passes_ = 0, us_ = 0;
  std::map<NodeId, NodeTotals> nodes_;
  std::map<NodeId, Flow> flows_;
};

/// Runs all requests and restarts them.
void run_pass(exec::Session& session, Requests& requests) {
  while (const auto inputs = requests.next()) {
    std::vector<Datum> values;
    for (const Array& input : *inputs) values.push_back(api::Access::datum(input));
    std::vector<Array> outputs;
    for (Datum& value : api::take(session.run(values))) outputs.push_back(api::Access::array(std::move(value)));
    requests.done(outputs);
  }
  requests.restart();
}

/// Observes a session during its lifetime.
class Observing {
 public:
  Observing(exec::Session& session, exec::Observer& observer) : session_(session) { session.set_observer(&observer); }
  ~Observing() { session_.set_observer(nullptr); }
  Observing(const Observing&) = delete;
  Observing& operator=(const Observing&) = delete;

 private:
  exec::Session& session_;
};

}  // namespace

Json run_json(exec::Session& session, Requests& requests, const debug::Sites& sites, const Origins& origins,
              profile::Recorder& recorder) {
  LastValues values(sites);
  {
    const Observing observing(session, recorder);
    // The first pass creates plans, which takes time.
    run_pass(session, requests);
    recorder.reset();
    for (std::size_t i = 0; i < kPasses; ++i) {
      run_pass(session, requests);
      recorder.end_pass();
    }
  }
  const std::uint64_t count = recorder.requests() / kPasses;
  {
    const Observing observing(session, values);
    run_pass(session, requests);
  }
  Json json = Totals(recorder, origins).json();
  json["requests"] = count;
  json["passes"] = kPasses;
  json["values"] = values.json();
  return json;
}

}  // namespace frazil::tool
