#include "server/pipeline/splits.h"

#include "server/core/json_text.h"

namespace frazil::server {
namespace {

const Block& block_of(const Served& served) {
  if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&served)) return pipeline->block();
  throw Refusal(Http::bad_request, "model '" + served.name() + "' is not a pipeline: it has no splits");
}

void write_sums(JsonText& json, std::string_view key, const RecentRequests::Sums& sums) {
  json.key(key);
  json.begin_object();
  json.member("requests", sums.requests);
  json.member("failed", sums.failed);
  for (const auto& [name, share] : {std::pair("p50_us", 0.5), {"p90_us", 0.9}, {"p99_us", 0.99}}) {
    if (const auto bucket = FineHistogram::bucket_at(sums.times, share)) {
      json.member(name, static_cast<double>(FineHistogram::least(*bucket).count()) / 1e3);
    }
  }
  json.end_object();
}

}  // namespace

std::string splits_json(const Served& served) {
  JsonText json;
  json.begin_array();
  for_each_guard(block_of(served), [&](const Node& split, const NodeView::Branch& arm) {
    const Rollback::Seen seen = arm.rollback->seen(Clock::now());
    json.begin_object();
    json.member("split", split.name());
    json.member("arm", arm.block->name);
    json.member("rule", arm.rule);
    json.member("rolled_back", !seen.reason.empty());
    if (!seen.reason.empty()) {
      json.member("reason", seen.reason);
      json.member("since_ms", seen.since_ms);
    }
    json.member("rollbacks", seen.rollbacks);
    write_sums(json, "recent", seen.arm);
    write_sums(json, "baseline", seen.baseline);
    json.end_object();
  });
  json.end_array();
  return json.take();
}

void reset_splits(const Served& served, const std::string& split, const std::string& arm) {
  bool found = false;
  for_each_guard(block_of(served), [&](const Node& node, const NodeView::Branch& branch) {
    if (!split.empty() && node.name() != split) return;
    if (!arm.empty() && branch.block->name != arm) return;
    branch.rollback->reset();
    found = true;
  });
  if (found) return;
  const std::string of = (split.empty() ? "" : " of split '" + split + "'") + (arm.empty() ? "" : " '" + arm + "'");
  throw Refusal(Http::not_found, "pipeline '" + served.name() + "' has no arm" + of + " with a guard");
}

}  // namespace frazil::server
