#include "server/live.h"

#include <optional>
#include <string_view>
#include <utility>

#include "server/heap.h"
#include "server/json_text.h"
#include "server/pipeline.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMostPaths = 20;

/// A model that was unloaded and is back counts from 0 again.
std::uint64_t since(std::uint64_t before, std::uint64_t now) { return now >= before ? now - before : now; }

double microseconds(double nanoseconds) { return nanoseconds / 1e3; }

/// The least time of the bucket that a share of the times is in or below; nothing without times.
std::optional<double> quantile_us(const FineHistogram::Counts& times, double share) {
  const auto bucket = FineHistogram::bucket_at(times, share);
  if (!bucket) return std::nullopt;
  return microseconds(static_cast<double>(FineHistogram::least(*bucket).count()));
}

void append_nodes(std::string& json, const Block& block);

void append_branch(std::string& json, const NodeView::Branch& branch) {
  json += '{';
  append_member(json, "name", branch.block->name);
  if (!branch.rule.empty()) append_member(json, "rule", branch.rule);
  if (branch.guard != nullptr && branch.guard->rolled_back()) {
    append_member(json, "rolled_back", branch.guard->seen(Clock::now()).reason);
  }
  append_member(json, "taken", branch.block->taken->load(std::memory_order_relaxed));
  append_key(json, "nodes");
  append_nodes(json, *branch.block);
  json += '}';
}

void append_node(std::string& json, const Node& node) {
  const NodeView view = node.view();
  json += '{';
  append_member(json, "name", node.name());
  append_member(json, "kind", view.kind);
  append_member(json, "calls", node.uses().begun.load(std::memory_order_relaxed));
  append_member(json, "failed", node.uses().failed.load(std::memory_order_relaxed));
  append_member(json, "in_flight", node.uses().running());
  append_member(json, "ended", node.uses().ended.count());
  append_member(json, "time_ns", node.uses().ended.nanoseconds());
  if (view.target != nullptr) {
    append_member(json, "model", view.target->name());
    append_member(json, "version", view.target->version());
  }
  if (!view.branches.empty()) {
    append_key(json, "branches");
    json += '[';
    append_list(json, view.branches, [&](const NodeView::Branch& branch) { append_branch(json, branch); });
    json += ']';
  }
  json += '}';
}

void append_nodes(std::string& json, const Block& block) {
  json += '[';
  append_list(json, block.nodes, [&](const NodePtr& node) { append_node(json, *node); });
  json += ']';
}

void append_batches(std::string& json, const Statistics& statistics) {
  append_key(json, "batches");
  json += '{';
  for (const auto& [size, runs] : statistics.batches.by_size()) append_member(json, std::to_string(size), runs.count);
  json += '}';
}

void append_journey_line(std::string& json, const Journey& journey) {
  json += '{';
  append_member(json, "number", journey.number);
  append_member(json, "model", journey.model);
  append_member(json, "version", journey.version);
  append_member(json, "time_us", std::chrono::duration<double, std::micro>(journey.time).count());
  append_member(json, "status", static_cast<unsigned>(journey.status));
  append_key(json, "taken");
  json += '[';
  bool first = true;
  for (const PathRecord::Step& step : journey.steps) {
    if (step.taken.empty()) continue;
    if (!std::exchange(first, false)) json += ',';
    append_json(json, step.node + ": " + step.taken);
  }
  json += "]}";
}

}  // namespace

LiveView::Counters::Counters(const Statistics& s)
    : requests{.count = s.success.count() + s.fail.count(), .nanoseconds = 0},
      queue{.count = s.queue.count(), .nanoseconds = s.queue.nanoseconds()},
      runs{.count = s.runs.count(), .nanoseconds = s.runs.nanoseconds()},
      in_runs(s.compute_infer.count()),
      padded(s.padded.load(std::memory_order_relaxed)),
      elements(s.elements.load(std::memory_order_relaxed)),
      times(s.duration.fine().counts()) {}

std::string LiveView::snapshot(std::uint64_t dropped, const Tenants::Asker& asker) {
  const auto now = Clock::now(), before = std::exchange(told_, now);
  const double seconds = before == Clock::time_point{} ? 0 : std::chrono::duration<double>(now - before).count();
  std::string json = "{";
  append_member(json, "seconds", seconds);
  append_member(json, "dropped", dropped);
  append_server(json);
  append_paths(json, asker);
  append_key(json, "models");
  json += '[';
  std::map<Key, Counters> counters;
  std::vector<std::shared_ptr<const Served>> models = service_.repository()->all();
  std::erase_if(models, [&](const auto& served) { return !asker.may_use(served->name()); });
  append_list(json, models, [&](const std::shared_ptr<const Served>& served) {
    const auto [at, made] = counters.emplace(Key{served->name(), served->version()}, served->statistics());
    append_model(json, *served, at->second, seconds);
  });
  json += "]}";
  before_ = std::move(counters);
  return json;
}

void LiveView::append_server(std::string& json) const {
  const Service::Load load = service_.current_load();
  append_member(json, "version", service_.version());
  append_member(json, "resident_bytes", resident_bytes());
  append_member(json, "waiting", load.waiting);
  append_member(json, "refused", load.refused);
  append_member(json, "sequences", load.sequences.sequences);
  append_member(json, "sequence_bytes", load.sequences.bytes);
}

void LiveView::append_paths(std::string& json, const Tenants::Asker& asker) const {
  const PathLog& log = service_.paths();
  append_key(json, "paths_inputs");
  json += log.keeps_inputs() ? "true" : "false";
  append_key(json, "paths");
  json += '[';
  append_list(json, log.find({.most = kMostPaths, .asker = asker}),
              [&](const std::shared_ptr<const Journey>& journey) { append_journey_line(json, *journey); });
  json += ']';
}

void LiveView::append_model(std::string& json, const Served& served, const Counters& now, double seconds) const {
  const Statistics& s = served.statistics();
  json += '{';
  append_member(json, "name", served.name());
  append_member(json, "version", served.version());
  append_member(json, "platform", served.platform());
  append_member(json, "pending", s.pending.load(std::memory_order_relaxed));
  append_member(json, "success", s.success.count());
  append_member(json, "fail", s.fail.count());
  append_member(json, "cancelled", s.cancelled.load(std::memory_order_relaxed));
  append_member(json, "rejected", s.rejected.load(std::memory_order_relaxed));
  append_member(json, "runs", s.runs.count());
  append_batches(json, s);
  if (seconds > 0) {
    const auto before = before_.find({served.name(), served.version()});
    append_interval(json, before != before_.end() ? before->second : Counters(), now, seconds);
  }
  if (const auto* pipeline = dynamic_cast<const Pipeline*>(&served)) {
    append_key(json, "nodes");
    append_nodes(json, pipeline->block());
  }
  json += '}';
}

void LiveView::append_interval(std::string& json, const Counters& before, const Counters& now, double seconds) {
  const auto mean_us = [&](std::string_view key, Counters::Sum Counters::* of) {
    const std::uint64_t count = since((before.*of).count, (now.*of).count);
    if (count == 0) return;
    const auto sum = static_cast<double>(since((before.*of).nanoseconds, (now.*of).nanoseconds));
    append_member(json, key, microseconds(sum / static_cast<double>(count)));
  };
  const auto ratio = [&](std::string_view key, std::uint64_t part, std::uint64_t whole) {
    if (whole != 0) append_member(json, key, static_cast<double>(part) / static_cast<double>(whole));
  };
  FineHistogram::Counts times = now.times;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = since(before.times[i], times[i]);
  append_key(json, "interval");
  json += '{';
  const std::uint64_t requests = since(before.requests.count, now.requests.count);
  append_member(json, "requests", requests);
  append_member(json, "per_second", static_cast<double>(requests) / seconds);
  for (const auto& [key, share] : {std::pair{"p50_us", 0.5}, std::pair{"p99_us", 0.99}}) {
    if (const auto time = quantile_us(times, share)) append_member(json, key, *time);
  }
  mean_us("queue_us", &Counters::queue);
  mean_us("run_us", &Counters::runs);
  ratio("batch", since(before.in_runs, now.in_runs), since(before.runs.count, now.runs.count));
  ratio("padding", since(before.padded, now.padded), since(before.elements, now.elements));
  json += '}';
}

Service::Load Service::current_load() const {
  return {.waiting = waiting_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .sequences = states_->counts()};
}

}  // namespace frazil::server
