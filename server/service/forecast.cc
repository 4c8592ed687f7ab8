#include "server/service/forecast.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <thread>

#include <sys/prctl.h>

#include "server/config/yaml.h"

namespace frazil::server {
namespace {

using api::Array;

constexpr std::size_t kLengths = 6;  // that are measured, evenly spaced
constexpr unsigned kPerWorker = 8;   // requests in a measured burst; hides the time to send them
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

MixRequest read_mix_request(const YamlNode& node) {
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

/// Returns a random tensor: floats are normally distributed, integers 0 or 1.
Array random_value(const api::Port& port, api::Sizes sizes, std::mt19937_64& random) {
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

/// Returns inputs for a request. `length` from 0 to 1 interpolates the ranges.
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
    inputs.emplace_back(input.name, random_value(*port, std::move(sizes), random));
  }
  return inputs;
}

/// Returns inputs at several lengths, evenly spaced from the smallest to the largest.
std::vector<std::shared_ptr<const std::vector<NamedArray>>> inputs_of(const MixRequest& request, const Served& served,
                                                                      std::size_t lengths, std::mt19937_64& random) {
  std::vector<std::shared_ptr<const std::vector<NamedArray>>> inputs;
  for (std::size_t i = 0; i < lengths; ++i) {
    const double length = static_cast<double>(i) / static_cast<double>(lengths - 1);
    inputs.push_back(std::make_shared<const std::vector<NamedArray>>(inputs_at(request, served, length, random)));
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

/// Submits requests to workers and collects the results. Thread-safe.
class Requests {
 public:
  using Inputs = std::shared_ptr<const std::vector<NamedArray>>;

  explicit Requests(Service& service) : service_(service) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() { wait(); }

  /// Submits a request immediately.
  void send(std::shared_ptr<const Served> served, Inputs inputs) {
    {
      const std::scoped_lock lock(mutex_);
      ++running_;
    }
    service_.workers().post([this, target = std::move(served), inputs = std::move(inputs), sent = Clock::now()] {
      const auto begun = Clock::now();
      Call call{.caller = std::make_shared<Caller>(), .arrived = sent};
      call.request.inputs = *inputs;
      call.done = [this, sent, begun](const Outcome& outcome) { end(sent, begun, outcome); };
      service_.infer(target, std::move(call));
    });
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return running_ == 0; });
  }

  // Valid when no request runs.
  const std::vector<double>& times() const { return times_; }  ///< seconds from submission to the answer
  double busy() const { return busy_; }                        ///< total seconds on workers
  std::uint64_t failed() const { return failed_; }
  const std::optional<Refusal>& fault() const { return fault_; }

 private:
  void end(Clock::time_point sent, Clock::time_point begun, const Outcome& outcome) {
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    times_.push_back(seconds(now - sent));
    busy_ += seconds(now - begun);
    if (!outcome) ++failed_;
    if (!outcome && !fault_) fault_ = outcome.error();
    if (--running_ == 0) ended_.notify_one();
  }

  Service& service_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
  std::vector<double> times_;
  double busy_ = 0;
  std::uint64_t failed_ = 0;
  std::optional<Refusal> fault_;
};

/// Requests of one length.
struct Sample {
  std::shared_ptr<const Served> served;
  Requests::Inputs inputs;
};

/// Returns the seconds per request for `count` equal requests that are submitted together. Throws the Refusal of a
/// failed request.
double time_of_each(Service& service, const Sample& sample, unsigned count) {
  Requests requests(service);
  const auto begun = Clock::now();
  for (unsigned k = 0; k < count; ++k) requests.send(sample.served, sample.inputs);
  requests.wait();
  if (requests.fault()) throw Refusal(*requests.fault());
  return count == 1 ? requests.times().front() : seconds(Clock::now() - begun) / count;
}

/// Returns the median of time_of_each() for each sample, measured in random order as in a server. `pauses`: the workers
/// sleep before each measurement for twice as long as the last one took, the mean pause at half load, so that threads
/// wake up and caches are cold as then.
std::vector<double> measured(Service& service, const std::vector<Sample>& samples, unsigned count, double for_seconds,
                             bool pauses) {
  constexpr std::size_t kMin = 5;
  std::vector<std::vector<double>> times(samples.size());
  std::mt19937 random(1);
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  for (const Sample& sample : samples) (void)time_of_each(service, sample, 1);
  const auto end = Clock::now() + std::chrono::duration<double>(for_seconds);
  while (times.front().size() < kMin || Clock::now() < end) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      const double time = time_of_each(service, samples[i], count);
      times[i].push_back(time);
      if (pauses) std::this_thread::sleep_for(std::chrono::duration<double>(2 * time));
    }
  }
  std::vector<double> medians;
  for (const auto& of_one : times) medians.push_back(percentile(of_one, 0.5));
  return medians;
}

/// Lets this thread sleep without the usual slack of 50 us, which would make arrivals bunch.
class PreciseSleep {
 public:
  PreciseSleep() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1); }
  ~PreciseSleep() { prctl(PR_SET_TIMERSLACK, before_); }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  const int before_;
};

/// Returns the size of inputs, in 10^6 bytes.
double megabytes_of(const std::vector<std::vector<Requests::Inputs>>& prepared) {
  std::size_t bytes = 0;
  for (const auto& request : prepared) {
    for (const Requests::Inputs& inputs : request) {
      for (const auto& [name, value] : *inputs) bytes += value.bytes();
    }
  }
  return static_cast<double>(bytes) * 1e-6;
}

/// Draws requests by their shares.
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
                  for (const YamlNode& item : list.items()) mix.push_back(read_mix_request(item));
                }}});
  const double sum =
      std::accumulate(mix.begin(), mix.end(), 0.0, [](double s, const MixRequest& r) { return s + r.share; });
  if (sum <= 0) root.fail("expected requests whose shares are more than 0");
  return mix;
}

MixProfile::MixProfile(Service& service, std::vector<MixRequest> mix, double seconds)
    : mix_(std::move(mix)), workers_(service.workers().count()) {
  std::mt19937_64 random(1);
  std::vector<Sample> samples;
  for (const MixRequest& request : mix_) {
    const auto served = service.models().find(request.model, request.version);
    for (auto& inputs : inputs_of(request, *served, kLengths, random)) samples.push_back({served, std::move(inputs)});
  }
  const std::vector<double> alone = measured(service, samples, 1, seconds / 2, true);
  const std::vector<double> together = measured(service, samples, kPerWorker * workers_, seconds / 2, false);
  for (std::size_t i = 0; i < samples.size(); i += kLengths) {
    Times& times = times_.emplace_back();
    for (std::size_t k = i; k < i + kLengths; ++k) {
      times.alone.push_back(alone[k]);
      times.together.push_back(together[k] * workers_);
    }
  }
  peak_mb_ = memory_mb("VmHWM:");
}

double MixProfile::time_of(std::size_t request, double length, bool alone) const {
  const std::vector<double>& times = alone ? times_[request].alone : times_[request].together;
  const double place = length * static_cast<double>(times.size() - 1);
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(place), times.size() - 2);
  return std::lerp(times[below], times[below + 1], place - static_cast<double>(below));
}

double MixProfile::max_rate() const {
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
    const double time = time_of(draw.request(), draw.length(), alone && begin == now);
    free_at.push(begin + time);
    busy += time;
    answered.push_back(begin + time - now);
  }
  return {.p50_ms = percentile(answered, 0.5) * 1e3,
          .p99_ms = percentile(answered, 0.99) * 1e3,
          .busy = busy / (now * workers_),
          .peak_mb = peak_mb_};
}

LoadResult run_load(Service& service, const std::vector<MixRequest>& mix, double rate, double for_seconds,
                    std::uint64_t seed) {
  constexpr std::size_t kPrepared = 33;  // lengths per request; created in advance, as it would delay sending
  Draw draw(mix, seed);
  std::vector<std::shared_ptr<const Served>> served;
  std::vector<std::vector<Requests::Inputs>> prepared;
  for (const MixRequest& request : mix) {
    served.push_back(service.models().find(request.model, request.version));
    prepared.push_back(inputs_of(request, *served.back(), kPrepared, draw.random));
  }
  const double prepared_mb = megabytes_of(prepared);
  const PreciseSleep precise;
  Requests requests(service);
  const auto begun = Clock::now();
  std::uint64_t sent = 0;
  for (double due = 0; due < for_seconds; due += draw.gap(rate), ++sent) {
    const std::size_t i = draw.request();
    const auto at = static_cast<std::size_t>(draw.length() * kPrepared);
    std::this_thread::sleep_until(begun +
                                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(due)));
    requests.send(served[i], prepared[i][at]);
  }
  const double sending = std::max(seconds(Clock::now() - begun), for_seconds);
  requests.wait();
  LoadResult result;
  result.p50_ms = percentile(requests.times(), 0.5) * 1e3;
  result.p99_ms = percentile(requests.times(), 0.99) * 1e3;
  result.busy = requests.busy() / (seconds(Clock::now() - begun) * service.workers().count());
  result.peak_mb = memory_mb("VmHWM:") - prepared_mb;
  result.rate = static_cast<double>(sent) / sending;
  result.failed = requests.failed();
  if (requests.fault()) result.why = requests.fault()->what();
  return result;
}

}  // namespace frazil::server
