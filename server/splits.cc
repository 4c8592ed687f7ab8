#include "server/splits.h"

#include "server/json_text.h"

namespace frazil::server {
namespace {

const Block& block_of(const Served& served) {
  if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&served)) return pipeline->block();
  throw Refusal(Http::bad_request, "model '" + served.name() + "' is no pipeline: it has no splits");
}

void append_sums(std::string& json, std::string_view key, const RecentRequests::Sums& sums) {
  append_key(json, key);
  json += '{';
  append_member(json, "requests", sums.requests);
  append_member(json, "failed", sums.failed);
  for (const auto& [name, share] : {std::pair("p50_us", 0.5), {"p90_us", 0.9}, {"p99_us", 0.99}}) {
    if (const auto bucket = FineHistogram::bucket_at(sums.times, share)) {
      append_member(json, name, static_cast<double>(FineHistogram::least(*bucket).count()) / 1e3);
    }
  }
  json += '}';
}

}  // namespace

std::string splits_json(const Served& served) {
  std::string json = "[";
  for_each_guard(block_of(served), [&](const Node& split, const NodeView::Branch& arm) {
    const Guard::Seen seen = arm.guard->seen(Clock::now());
    if (json.size() > 1) json += ',';
    json += '{';
    append_member(json, "split", split.name());
    append_member(json, "arm", arm.block->name);
    append_member(json, "rule", arm.rule);
    json += seen.reason.empty() ? R"(,"rolled_back":false)" : R"(,"rolled_back":true)";
    if (!seen.reason.empty()) {
      append_member(json, "reason", seen.reason);
      append_member(json, "since_ms", seen.since_ms);
    }
    append_member(json, "rollbacks", seen.rollbacks);
    append_sums(json, "recent", seen.arm);
    append_sums(json, "baseline", seen.baseline);
    json += '}';
  });
  return json + ']';
}

void reset_splits(const Served& served, const std::string& split, const std::string& arm) {
  bool found = false;
  for_each_guard(block_of(served), [&](const Node& node, const NodeView::Branch& branch) {
    if (!split.empty() && node.name() != split) return;
    if (!arm.empty() && branch.block->name != arm) return;
    branch.guard->reset();
    found = true;
  });
  if (found) return;
  const std::string of = (split.empty() ? "" : " of split '" + split + "'") + (arm.empty() ? "" : " '" + arm + "'");
  throw Refusal(Http::not_found, "pipeline '" + served.name() + "' has no arm" + of + " with a guard");
}

}  // namespace frazil::server
