#include "server/web/live.h"

#include <optional>
#include <string_view>
#include <utility>

#include "server/core/heap.h"
#include "server/core/json_text.h"
#include "server/pipeline/pipeline.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMaxPaths = 20;

/// Returns the increase of a counter. A reloaded model counts from 0 again.
std::uint64_t since(std::uint64_t before, std::uint64_t now) { return now >= before ? now - before : now; }

double to_microseconds(double nanoseconds) { return nanoseconds / 1e3; }

/// Returns the lower bound of the quantile's bucket, or nullopt without times.
std::optional<double> quantile_us(const FineHistogram::Counts& times, double share) {
  const auto bucket = FineHistogram::bucket_at(times, share);
  if (!bucket) return std::nullopt;
  return to_microseconds(static_cast<double>(FineHistogram::least(*bucket).count()));
}

void write_nodes(JsonText& json, const Block& block);

void write_branch(JsonText& json, const NodeView::Branch& branch) {
  json.begin_object();
  json.member("name", branch.block->name);
  if (!branch.rule.empty()) json.member("rule", branch.rule);
  if (branch.rollback != nullptr && branch.rollback->rolled_back()) {
    json.member("rolled_back", branch.rollback->seen(Clock::now()).reason);
  }
  json.member("taken", branch.block->taken->load(std::memory_order_relaxed));
  json.key("nodes");
  write_nodes(json, *branch.block);
  json.end_object();
}

void write_node(JsonText& json, const Node& node) {
  const NodeView view = node.view();
  json.begin_object();
  json.member("name", node.name());
  json.member("kind", view.kind);
  json.member("calls", node.uses().begun.load(std::memory_order_relaxed));
  json.member("failed", node.uses().failed.load(std::memory_order_relaxed));
  json.member("in_flight", node.uses().running());
  json.member("ended", node.uses().ended.count());
  json.member("time_ns", node.uses().ended.nanoseconds());
  if (view.target != nullptr) {
    json.member("model", view.target->name());
    json.member("version", view.target->version());
  }
  if (!view.branches.empty()) {
    json.key("branches");
    json.array(view.branches, [&](const NodeView::Branch& branch) { write_branch(json, branch); });
  }
  json.end_object();
}

void write_nodes(JsonText& json, const Block& block) {
  json.array(block.nodes, [&](const NodePtr& node) { write_node(json, *node); });
}

void write_batch_counts(JsonText& json, const Statistics& statistics) {
  json.key("batches");
  json.begin_object();
  for (const auto& [size, runs] : statistics.batches.by_size()) json.member(std::to_string(size), runs.count);
  json.end_object();
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

std::string LiveView::snapshot(std::uint64_t dropped, const Tenants::Identity& identity) {
  const auto now = Clock::now(), before = std::exchange(last_snapshot_, now);
  const double seconds = before == Clock::time_point{} ? 0 : std::chrono::duration<double>(now - before).count();
  JsonText json;
  json.begin_object();
  json.member("seconds", seconds);
  json.member("dropped", dropped);
  write_server(json);
  write_paths(json, identity);
  json.key("models");
  std::map<Key, Counters> counters;
  json.array(service_.models().seen_by(identity), [&](const std::shared_ptr<const Served>& served) {
    const auto [at, made] =
        counters.emplace(Key{served->name(), served->version()}, served->counts().seen_by(identity));
    write_model(json, *served, {.now = at->second, .seconds = seconds, .identity = identity});
  });
  json.end_object();
  before_ = std::move(counters);
  return json.take();
}

void LiveView::write_server(JsonText& json) const {
  const Service::Load load = service_.current_load();
  json.member("version", service_.options().version);
  json.member("resident_bytes", resident_bytes());
  json.member("waiting", load.waiting);
  json.member("refused", load.refused);
  json.member("sequences", load.sequences.sequences);
  json.member("sequence_bytes", load.sequences.bytes);
}

void LiveView::write_paths(JsonText& json, const Tenants::Identity& identity) const {
  const PathLog& log = service_.paths();
  const Gate& gate = service_.gate();
  json.member("paths_inputs", log.keeps_inputs() && gate.shows_tensors());
  json.member("replay", log.keeps_inputs() && gate.is_on(Feature::replay));
  json.key("paths");
  json.array(log.find({.most = kMaxPaths, .identity = identity}),
             [&](const std::shared_ptr<const RequestRecord>& record) { write_brief_record(json, *record); });
}

void LiveView::write_model(JsonText& json, const Served& served, const Moment& moment) const {
  const Statistics& s = served.counts().seen_by(moment.identity);
  json.begin_object();
  json.member("name", served.name());
  json.member("version", served.version());
  json.member("platform", served.platform());
  json.member("pending", s.pending.load(std::memory_order_relaxed));
  json.member("success", s.success.count());
  json.member("fail", s.fail.count());
  json.member("cancelled", s.cancelled.load(std::memory_order_relaxed));
  json.member("rejected", s.rejected.load(std::memory_order_relaxed));
  json.member("runs", s.runs.count());
  write_batch_counts(json, s);
  if (moment.seconds > 0) {
    const auto before = before_.find({served.name(), served.version()});
    write_interval(json, before != before_.end() ? before->second : Counters(), moment);
  }
  const auto* const pipeline = dynamic_cast<const Pipeline*>(&served);
  if (pipeline != nullptr && moment.identity.is_admin()) {
    json.key("nodes");
    write_nodes(json, pipeline->block());
  }
  json.end_object();
}

void LiveView::write_interval(JsonText& json, const Counters& before, const Moment& moment) {
  const Counters& now = moment.now;
  const auto mean_us = [&](std::string_view key, Counters::Sum Counters::* of) {
    const std::uint64_t count = since((before.*of).count, (now.*of).count);
    if (count == 0) return;
    const auto sum = static_cast<double>(since((before.*of).nanoseconds, (now.*of).nanoseconds));
    json.member(key, to_microseconds(sum / static_cast<double>(count)));
  };
  const auto ratio = [&](std::string_view key, std::uint64_t part, std::uint64_t whole) {
    if (whole != 0) json.member(key, static_cast<double>(part) / static_cast<double>(whole));
  };
  FineHistogram::Counts times = now.times;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = since(before.times[i], times[i]);
  json.key("interval");
  json.begin_object();
  const std::uint64_t requests = since(before.requests.count, now.requests.count);
  json.member("requests", requests);
  json.member("per_second", static_cast<double>(requests) / moment.seconds);
  for (const auto& [key, share] : {std::pair{"p50_us", 0.5}, std::pair{"p99_us", 0.99}}) {
    if (const auto time = quantile_us(times, share)) json.member(key, *time);
  }
  mean_us("queue_us", &Counters::queue);
  mean_us("run_us", &Counters::runs);
  ratio("batch", since(before.in_runs, now.in_runs), since(before.runs.count, now.runs.count));
  ratio("padding", since(before.padded, now.padded), since(before.elements, now.elements));
  json.end_object();
}

Service::Load Service::current_load() const {
  return {.waiting = admission_.waiting(), .refused = admission_.refused(), .sequences = states_->counts()};
}

}  // namespace frazil::server
