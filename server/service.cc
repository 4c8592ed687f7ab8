#include "server/service.h"

namespace frazil::server {

Service::Service(ServiceOptions options) : options_(std::move(options)), workers_(options_.workers) {
  states_ = std::make_unique<StateStore>(options_.config.state, workers_);
  loader_ = std::make_unique<Loader>(options_.folder, options_.run, options_.config, workers_, *states_, options_.warn);
  repository_ = loader_->load_all();
}

std::shared_ptr<const Repository> Service::repository() const {
  const std::scoped_lock lock(mutex_);
  return repository_;
}

std::shared_ptr<const Served> Service::find(std::string_view name, std::string_view version) const {
  if (auto served = repository()->find(name, version)) return served;
  const std::string of = version.empty() ? "" : " in version '" + std::string(version) + "'";
  throw Refusal(Http::not_found, "there is no model '" + std::string(name) + "'" + of);
}

void Service::infer(std::shared_ptr<const Served> target, Call call) {
  if (const auto time_out = call.request.timeout_us; time_out.value_or(0) != 0) {
    constexpr std::uint64_t kLongest = 1'000'000'000'000;  // eleven days: later is never
    const auto limit = call.arrived + std::chrono::microseconds(std::min(*time_out, kLongest));
    call.deadline = call.deadline ? std::min(*call.deadline, limit) : limit;
  }
  call.target = target;
  target->infer(std::move(call));
}

void Service::load(std::string_view name) {
  const std::scoped_lock lock(loading_);
  try {
    swap_in(loader_->load(*repository(), std::string(name)));
  } catch (const api::Error& error) {
    throw Refusal(Http::bad_request, error.what());
  }
}

void Service::unload(std::string_view name) {
  const std::scoped_lock lock(loading_);
  swap_in(loader_->unload(*repository(), std::string(name)));
}

void Service::swap_in(std::shared_ptr<const Repository> repository) {
  const std::scoped_lock lock(mutex_);
  repository_.swap(repository);
}

void Service::enter() {
  const std::size_t waiting = waiting_.fetch_add(1, std::memory_order_relaxed);
  if (waiting < options_.most_waiting) return;
  leave();
  refused_.fetch_add(1, std::memory_order_relaxed);
  throw Refusal(Http::too_many, "too many requests wait: " + std::to_string(waiting));
}

}  // namespace frazil::server
