#include "server/request/recording.h"

#include <algorithm>
#include <iterator>

namespace frazil::server {
namespace {

std::size_t bytes_of_values(const Happening& happening) {
  std::size_t bytes = sizeof(Happening) + happening.node.size() + happening.taken.size();
  for (const auto& [name, value] : happening.values) bytes += value.is_tensor() ? value.bytes() : sizeof(value);
  return bytes + happening.shape.members.size() * sizeof(RunShape::Extent);
}

}  // namespace

Recording::Recording(Mode mode, const std::vector<Happening>& happenings) : mode_(mode) {
  for (const Happening& happening : happenings) next_[happening.node].push_back(happening);
}

void Recording::add(Happening happening) {
  const std::scoped_lock lock(mutex_);
  bytes_ += bytes_of_values(happening);
  overflowed_ |= bytes_ > kMaxBytes || happenings_.size() >= kMaxHappenings;
  if (!overflowed_) happenings_.push_back(std::move(happening));
}

std::shared_ptr<Recording> Recording::fork(const std::shared_ptr<Recording>& of) {
  return of == nullptr || of->plays() ? of : std::make_shared<Recording>();
}

void Recording::join(Recording& block) {
  if (&block == this) return;
  const std::scoped_lock lock(mutex_, block.mutex_);
  bytes_ += block.bytes_;
  overflowed_ |=
      block.overflowed_ || bytes_ > kMaxBytes || happenings_.size() + block.happenings_.size() > kMaxHappenings;
  if (!overflowed_) std::ranges::move(block.happenings_, std::back_inserter(happenings_));
  block.happenings_.clear();
}

std::optional<std::vector<Happening>> Recording::happenings() const {
  const std::scoped_lock lock(mutex_);
  return overflowed_ ? std::nullopt : std::optional(happenings_);
}

std::optional<std::string> Recording::forced(const std::string& node, const std::string& kind) const {
  const std::scoped_lock lock(mutex_);
  const auto at = next_.find(node);
  if (at == next_.end() || at->second.empty() || at->second.front().kind != kind) return std::nullopt;
  return at->second.front().taken;
}

void Recording::took(const std::string& node, const std::string& kind, const std::string& taken) {
  if (!plays()) return add({.node = node, .kind = kind, .taken = taken});
  const auto recorded = pop(node, kind);
  if (!recorded) return differ(node, "took '" + taken + "', the record has no such step");
  if (recorded->taken != taken) differ(node, "took '" + taken + "', the record has '" + recorded->taken + "'");
}

std::optional<Happening> Recording::pop(const std::string& node, const std::string& kind) {
  const std::scoped_lock lock(mutex_);
  const auto at = next_.find(node);
  if (at == next_.end() || at->second.empty() || at->second.front().kind != kind) return std::nullopt;
  Happening happening = std::move(at->second.front());
  at->second.pop_front();
  return happening;
}

std::optional<Happening> Recording::next(const std::string& node, const std::string& kind) {
  auto happening = pop(node, kind);
  if (happening || !is_exact()) return happening;
  differ(node, "ran '" + kind + "', which the record does not have");
  throw Refusal(Http::unavailable, "node '" + node + "': the record has no " + kind + " of it");
}

std::string Recording::next_kind(const std::string& node) const {
  const std::scoped_lock lock(mutex_);
  const auto at = next_.find(node);
  return at == next_.end() || at->second.empty() ? "" : at->second.front().kind;
}

void Recording::differ(const std::string& node, const std::string& what) {
  const std::scoped_lock lock(mutex_);
  if (!findings_.what.empty()) return;
  findings_.node = node;
  findings_.what = what;
}

void Recording::loosen(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(findings_.loosened, why) == findings_.loosened.end()) findings_.loosened.push_back(why);
}

Recording::Findings Recording::findings() const {
  const std::scoped_lock lock(mutex_);
  Findings found = findings_;
  for (const auto& [node, left] : next_) found.unused += left.size();
  return found;
}

}  // namespace frazil::server
