#include "server/forecast.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <future>
#include <numeric>
#include <queue>
#include <random>
#include <thread>

#include "server/yaml.h"

namespace frazil::server {
namespace {

using api::Array;

constexpr std::size_t kLengths = 6;  // that are measured, evenly from the least to the largest
constexpr std::size_t kSimulated = 50'000;
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;

std::vector<std::pair<std::int64_t, std::int64_t>> extents_of(const YamlNode& node) {
  const std::string text = node.name();
  std::vector<std::pair<std::int64_t, std::int64_t>> extents;
  if (text == "scalar") return extents;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('x'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t dots = one.find("..");
    const auto low = whole_from(one.substr(0, dots));
    const auto high = dots == std::string_view::npos ? low : whole_from(one.substr(dots + 2));
    if (!low || !high || *low > *high || *high > kLargestExtent) node.expected("a shape such as 1x5..128");
    extents.emplace_back(static_cast<std::int64_t>(*low), static_cast<std::int64_t>(*high));
  }
  return extents;
}

MixRequest request_of(const YamlNode& node) {
  MixRequest request;
  node.fields({{"model", [&](const YamlNode& x) { request.model = x.name(); }},
               {"version", [&](const YamlNode& x) { request.version = x.name(); }},
               {"share", [&](const YamlNode& x) { request.share = x.number(0, 1e9); }},
               {"inputs", [&](const YamlNode& x) {
                  for (const auto& [name, shape] : x.entries()) request.inputs.push_back({name, extents_of(shape)});
                }}});
  if (request.model.empty()) node.fail("expected the key 'model'");
  return request;
}

/// Floats are random, other numbers 0 or 1.
Array value_of(const api::Port& port, api::Sizes sizes, std::mt19937_64& random) {
  Array value(port.dtype, std::move(sizes));
  std::normal_distribution<float> normal;
  if (port.dtype == api::Dtype::f32)
    std::ranges::generate(value.mutable_values<float>(), [&] { return normal(random); });
  if (port.dtype == api::Dtype::i64) {
    std::ranges::generate(value.mutable_values<std::int64_t>(),
                          [&] { return static_cast<std::int64_t>(random() % 2); });
  }
  return value;
}

/// `length` from 0 to 1 is the place in the ranges.
std::vector<NamedArray> inputs_at(const MixRequest& request, const Served& served, double length,
                                  std::mt19937_64& random) {
  std::vector<NamedArray> inputs;
  for (const MixInput& input : request.inputs) {
    const auto port = std::ranges::find(served.inputs(), input.name, &api::Port::name);
    if (port == served.inputs().end()) {
      throw Refusal(Http::bad_request, "model '" + request.model + "' has no input '" + input.name + "'");
    }
    api::Sizes sizes;
    for (const auto& [low, high] : input.extents) {
      sizes.push_back(low + std::llround(length * static_cast<double>(high - low)));
    }
    inputs.emplace_back(input.name, value_of(*port, std::move(sizes), random));
  }
  return inputs;
}

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

double memory_mb(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) * 1024e-6;
  }
  return 0;
}

/// Runs a request on a worker; the future has the seconds that it took there.
std::future<double> run(Service& service, std::shared_ptr<const Served> served, std::vector<NamedArray> inputs) {
  auto promise = std::make_shared<std::promise<double>>();
  auto future = promise->get_future();
  service.workers().post([&service, served = std::move(served), inputs = std::move(inputs), promise] {
    Call call{.caller = std::make_shared<Caller>(), .arrived = Clock::now()};
    call.request.inputs = inputs;
    call.done = [promise, begun = call.arrived](const Outcome& outcome) {
      if (outcome) return promise->set_value(seconds(Clock::now() - begun));
      promise->set_exception(std::make_exception_ptr(outcome.error()));
    };
    service.infer(served, std::move(call));
  });
  return future;
}

/// The medians of runs of several inputs in turns, as a server meets them, with `at_once` runs at the same time.
std::vector<double> measured(Service& service, const std::shared_ptr<const Served>& served,
                             const std::vector<std::vector<NamedArray>>& inputs, unsigned at_once, double for_seconds) {
  constexpr std::size_t kFewest = 5;
  std::vector<std::vector<double>> times(inputs.size());
  std::mt19937 random(1);
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  for (const auto& one : inputs) run(service, served, one).get();
  const auto end = Clock::now() + std::chrono::duration<double>(for_seconds);
  while (times.front().size() < kFewest || Clock::now() < end) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      std::vector<std::future<double>> some;
      for (unsigned k = 0; k < at_once; ++k) some.push_back(run(service, served, inputs[i]));
      for (auto& one : some) times[i].push_back(one.get());
    }
  }
  std::vector<double> medians;
  for (const auto& of_one : times) medians.push_back(percentile(of_one, 0.5));
  return medians;
}

/// Draws a request by its share.
class Draw {
 public:
  Draw(const std::vector<MixRequest>& mix, std::uint64_t seed) : random(seed), shares_(shares_of(mix)) {}
  std::size_t request() { return shares_(random); }
  double length() { return std::uniform_real_distribution<double>()(random); }
  double gap(double rate) { return std::exponential_distribution<double>(rate)(random); }

  std::mt19937_64 random;

 private:
  static std::discrete_distribution<std::size_t> shares_of(const std::vector<MixRequest>& mix) {
    std::vector<double> shares;
    for (const MixRequest& request : mix) shares.push_back(request.share);
    return {shares.begin(), shares.end()};
  }
  std::discrete_distribution<std::size_t> shares_;
};

}  // namespace

std::vector<MixRequest> read_mix(const std::string& path) {
  const YamlNode root = read_yaml(path);
  std::vector<MixRequest> mix;
  root.fields({{"requests", [&](const YamlNode& list) {
                  for (const YamlNode& item : list.items()) mix.push_back(request_of(item));
                }}});
  const double sum =
      std::accumulate(mix.begin(), mix.end(), 0.0, [](double s, const MixRequest& r) { return s + r.share; });
  if (sum <= 0) root.fail("expected requests whose shares are more than 0");
  return mix;
}

MixProfile::MixProfile(Service& service, std::vector<MixRequest> mix, double seconds)
    : mix_(std::move(mix)), workers_(service.workers().count()) {
  const double each = seconds / static_cast<double>(mix_.size() * 2);
  std::mt19937_64 random(1);
  for (const MixRequest& request : mix_) {
    const auto served = service.find(request.model, request.version);
    std::vector<std::vector<NamedArray>> inputs;
    for (std::size_t i = 0; i < kLengths; ++i) {
      inputs.push_back(inputs_at(request, *served, static_cast<double>(i) / (kLengths - 1), random));
    }
    times_.push_back({.alone = measured(service, served, inputs, 1, each),
                      .together = measured(service, served, inputs, workers_, each)});
  }
  peak_mb_ = memory_mb("VmHWM:");
}

double MixProfile::time_of(std::size_t request, double length, bool alone) const {
  const std::vector<double>& times = alone ? times_[request].alone : times_[request].together;
  const double place = length * (kLengths - 1);
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(place), kLengths - 2);
  return std::lerp(times[below], times[below + 1], place - static_cast<double>(below));
}

double MixProfile::most_rate() const {
  Draw draw(mix_, 1);
  double sum = 0;
  for (std::size_t i = 0; i < kSimulated; ++i) sum += time_of(draw.request(), draw.length(), false);
  return workers_ * static_cast<double>(kSimulated) / sum;
}

Forecast MixProfile::at(double rate, std::uint64_t seed) const {
  Draw draw(mix_, seed);
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (unsigned i = 0; i < workers_; ++i) free_at.push(0);
  std::vector<double> answered;
  double now = 0, busy = 0;
  for (std::size_t i = 0; i < kSimulated; ++i) {
    now += draw.gap(rate);
    const double begin = std::max(now, free_at.top());
    free_at.pop();
    const bool alone = free_at.empty() || free_at.top() <= begin;
    const double time = time_of(draw.request(), draw.length(), alone && workers_ > 1);
    free_at.push(begin + time);
    busy += time;
    answered.push_back(begin + time - now);
  }
  return {.p50_ms = percentile(answered, 0.5) * 1e3,
          .p99_ms = percentile(answered, 0.99) * 1e3,
          .busy = busy / (now * workers_),
          .peak_mb = peak_mb_};
}

Forecast drive(Service& service, const std::vector<MixRequest>& mix, double rate, double for_seconds,
               std::uint64_t seed) {
  struct Answered {
    std::mutex mutex;
    std::vector<double> times;
    double busy = 0;
    std::size_t running = 0;
    std::condition_variable ended;
  };
  const auto answered = std::make_shared<Answered>();
  Draw draw(mix, seed);
  std::vector<std::shared_ptr<const Served>> served;
  constexpr std::size_t kPrepared = 33;  // lengths of each request: making inputs would delay those that are due
  std::vector<std::vector<std::vector<NamedArray>>> prepared(mix.size());
  for (std::size_t i = 0; i < mix.size(); ++i) {
    served.push_back(service.find(mix[i].model, mix[i].version));
    for (std::size_t k = 0; k < kPrepared; ++k) {
      prepared[i].push_back(inputs_at(mix[i], *served[i], static_cast<double>(k) / (kPrepared - 1), draw.random));
    }
  }
  auto next = Clock::now();
  const auto begun = next,
             end = next + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(for_seconds));
  while (next < end) {
    const std::size_t i = draw.request();
    const auto& inputs = prepared[i][static_cast<std::size_t>(draw.length() * kPrepared)];
    std::this_thread::sleep_until(next);
    {
      const std::scoped_lock lock(answered->mutex);
      ++answered->running;
    }
    service.workers().post([&service, answered, target = served[i], inputs, arrived = next] {
      const auto begin = Clock::now();
      Call call{.caller = std::make_shared<Caller>(), .arrived = arrived};
      call.request.inputs = inputs;
      call.done = [answered, arrived, begin](const Outcome&) {
        const std::scoped_lock lock(answered->mutex);
        answered->times.push_back(seconds(Clock::now() - arrived));
        answered->busy += seconds(Clock::now() - begin);
        if (--answered->running == 0) answered->ended.notify_one();
      };
      service.infer(target, std::move(call));
    });
    next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(draw.gap(rate)));
  }
  std::unique_lock lock(answered->mutex);
  answered->ended.wait(lock, [&] { return answered->running == 0; });
  return {.p50_ms = percentile(answered->times, 0.5) * 1e3,
          .p99_ms = percentile(answered->times, 0.99) * 1e3,
          .busy = answered->busy / (seconds(Clock::now() - begun) * service.workers().count()),
          .peak_mb = memory_mb("VmHWM:")};
}

}  // namespace frazil::server
