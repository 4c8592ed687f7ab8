#include "base/limits/load_scope.h"

#include <algorithm>
#include <limits>

namespace frazil {
namespace {

thread_local LoadScope* current_scope = nullptr;

constexpr std::size_t kAnyGraph = std::size_t{64}
                                  << 20;  ///< bytes that every graph may take, however small its source is
constexpr std::size_t kPerSourceByte = 1024;
constexpr std::size_t kUncharged =
    std::size_t{1} << 20;  ///< bytes that are not charged, so that small graphs fit memory limits meant for tensors
constexpr std::uint64_t kAnyRetypings = std::uint64_t{1} << 14;
constexpr std::uint64_t kRetypingsPerNode = 8;

std::size_t max_bytes(std::size_t source_bytes) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max() / kPerSourceByte - kAnyGraph;
  return kAnyGraph + kPerSourceByte * std::min(source_bytes, kMax);
}

}  // namespace

LoadScope::LoadScope(const LoadBounds& bounds, std::string_view what, std::size_t source_bytes)
    : what_(what),
      bounds_(bounds),
      log_(bounds.log),
      source_bytes_(source_bytes),
      most_(max_bytes(source_bytes)),
      deadline_(bounds.time ? std::optional(Clock::now() + *bounds.time) : std::nullopt),
      outer_(current_scope),
      limits_(Limits{.memory_bytes = bounds.limits.memory_bytes,
                     .tensor_elements = bounds.limits.tensor_elements,
                     .time = bounds.time}),
      scope_(&limits_),
      on_stop_(bounds.stop, Cancel{*this}) {
  current_scope = this;
}

LoadScope::~LoadScope() {
  current_scope = outer_;
  if (outer_ != nullptr) {
    outer_->work_.nodes += work_.nodes;
    outer_->work_.bytes = std::max(outer_->work_.bytes, work_.bytes);
  }
  limits_.meter()->release(charged_);
}

LoadScope* LoadScope::current() noexcept { return current_scope; }

Status LoadScope::check() {
  constexpr std::uint64_t kLookEvery = 16;
  if (++work_.nodes % kLookEvery == 0 ? limits_.poll() : limits_.stopping()) return reason();
  return counted_ == charged_ ? Status() : charge();
}

Status LoadScope::check_retyping() {
  if (++retyped_ <= kAnyRetypings + kRetypingsPerNode * nodes_) return {};
  return fail(Code::limit,
              "{}: loops inside each other make it type {} nodes again, more than a graph of this size may", what_,
              retyped_);
}

Status LoadScope::charge() {
  if (counted_ > most_) {
    return fail(
        Code::limit,
        "{}: its graph takes more than {} bytes, the most for a source of {} bytes; what a function holds counts "
        "once per call",
        what_, most_, source_bytes_);
  }
  work_.bytes = std::max(work_.bytes, counted_);
  if (counted_ <= kUncharged) return {};
  const std::size_t more = counted_ - charged_;
  if (!limits_.meter()->charge(more)) {
    return fail(Code::limit, "{}: {} more bytes of its graph would exceed the memory limit of {} bytes; {} are in use",
                what_, more, limits_.meter()->limit(), limits_.meter()->used());
  }
  charged_ = counted_;
  return {};
}

void LoadScope::release(std::size_t bytes) noexcept {
  counted_ -= std::min(bytes, counted_);
  if (charged_ <= counted_) return;
  limits_.meter()->release(charged_ - counted_);
  charged_ = counted_;
}

std::unexpected<Fault> LoadScope::reason() const {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  if (bounds_.stop.stop_requested()) return fail(Code::cancelled, "{} was cancelled", what_);
  if (deadline_ && Clock::now() > *deadline_) {
    return fail(Code::limit, "{} passed its deadline of {:.6g} ms", what_, Milliseconds(*bounds_.time).count());
  }
  return within(std::string(what_) + ": ", limits_.reason().error());
}

Status check_load() { return current_scope == nullptr ? Status() : current_scope->check(); }

Status check_retyping() { return current_scope == nullptr ? Status() : current_scope->check_retyping(); }

void count_graph_bytes(std::size_t bytes) noexcept {
  if (current_scope != nullptr) current_scope->count(bytes);
}

void count_graph_node(std::size_t bytes) noexcept {
  if (current_scope == nullptr) return;
  current_scope->count(bytes);
  current_scope->count_node();
}

GraphMemory::GraphMemory() noexcept : before_(current_scope == nullptr ? 0 : current_scope->counted()) {}

std::size_t GraphMemory::bytes() const noexcept {
  return current_scope == nullptr ? 0 : current_scope->counted() - std::min(before_, current_scope->counted());
}

GraphMemory::~GraphMemory() {
  if (current_scope != nullptr) current_scope->release(bytes());
}

}  // namespace frazil
