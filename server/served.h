#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/error.h>
#include <frazil/model.h>

#include "server/request.h"
#include "server/statistics.h"

namespace frazil::server {

/// One version of something that clients see as a model: an ONNX model or a pipeline of models. Thread-safe.
class Served : public std::enable_shared_from_this<Served> {
 public:
  Served(std::string name, std::string version) : name_(std::move(name)), version_(std::move(version)) {}
  virtual ~Served() = default;
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  /// What was asked of it in all.
  Statistics& statistics() const { return counted_->all; }
  /// What a caller may see of that: the requests of its tenant, or for administrators all.
  const Statistics& statistics_for(const Tenants::Asker& asker) const;
  /// Calls `count` with the statistics of all requests, and with those of the tenant that a request is from.
  template <class F>
  void count_for(const Tenants::Asker& asker, F count) const {
    count(counted_->all);
    if (!asker.name().empty()) count(statistics_of(asker));
  }
  /// Counts on where `before`, which it replaces, has got to. Call it before others see it.
  void go_on_from(const Served& before) { counted_ = before.counted_; }

  virtual std::string_view platform() const = 0;
  virtual const std::vector<api::Port>& inputs() const = 0;
  virtual const std::vector<api::Port>& outputs() const = 0;
  /// Outputs that come in parts before the answer, each any number of times. Those that are among outputs(), too, have
  /// their last value in the answer. Empty: the answer is all that there is.
  virtual const std::vector<api::Port>& emitted() const;
  /// All that a response may have: outputs(), and behind them what comes in parts only.
  std::vector<api::Port> all_outputs() const;
  /// Whether a request has to give an input: there is no default for it, and no state.
  virtual bool needs(const api::Port& input) const { return !input.optional; }
  /// "sha256:...": equal content, equal digest.
  virtual std::string digest() const = 0;
  /// Why no request has room (too_many): too many wait for it already. Quick: for before a request is read.
  virtual std::optional<Refusal> refusal() const { return std::nullopt; }
  /// Runs that were compared with the reference executor.
  struct Checked {
    std::uint64_t runs = 0, different = 0;
  };
  virtual Checked checked() const { return {}; }
  /// The time that a request without a time-out has; nothing: any.
  virtual std::optional<Clock::duration> usual_limit() const { return std::nullopt; }
  /// Names of an output's classes, by index; empty: it has none.
  virtual const std::vector<std::string>& labels(std::string_view output) const;
  /// Largest number of requests that run as one; 0: they are not batched.
  virtual std::uint64_t most_in_batch() const { return 0; }
  /// The axis along which requests are joined; nothing: they are not, or share the value.
  virtual std::optional<std::size_t> batch_axis_of_input(std::size_t) const { return std::nullopt; }
  virtual std::optional<std::size_t> batch_axis_of_output(std::size_t) const { return std::nullopt; }
  /// The time that a run is expected to take, from those so far; zero before the first.
  virtual Clock::duration expected_time() const;

  /// A worker's time that a request takes, from those so far; zero before the first.
  Clock::duration expected_cost() const { return counted_->all.cost.value(); }

  /// Whether a request has taken less time so far than handing it to a worker does, and does nothing but run a model.
  virtual bool is_quick() const { return false; }

  /// Answers `call.done` once: on any thread, also before it returns. Called on a worker, or where it may take as long
  /// as the model. Never throws. Sets what the statistics and the response name.
  void infer(Call call) const;
  /// Counts a request that could not even be read.
  void count_unread(const Tenants::Asker& asker, Clock::time_point arrived, const Refusal& why) const;

 protected:
  /// The statistics of a tenant's requests. Precondition: the caller is a tenant.
  Statistics& statistics_of(const Tenants::Asker& tenant) const { return counted_->of(tenant.name()); }
  virtual void start(Call call) const = 0;
  /// The answer to a request from the values of outputs(): those that it wants. Throws Refusal.
  InferResponse respond(const InferRequest& request, std::vector<api::Array> values) const;
  /// A part from some of emitted(): those that the request wants. Throws Refusal.
  InferResponse part_of(const InferRequest& request, std::vector<NamedArray> values) const;

 private:
  void check_wanted(const Call& call) const;
  void count_parts(Call& call) const;
  api::Array wanted_form(const WantedOutput& wanted, const api::Array& value) const;

  std::string name_, version_;
  /// The statistics of all requests, and of those of each tenant.
  struct Counted {
    Statistics all;
    /// Stays where it is.
    Statistics& of(const std::string& tenant) {
      const std::scoped_lock lock(mutex);
      return tenants[tenant];
    }
    std::mutex mutex;  // of what follows
    std::map<std::string, Statistics> tenants;
  };
  std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
};

/// The status that an error of the library is answered with. `out_of_time`: the limit that was reached is the time-out.
Http status_of(api::Code code, bool out_of_time);

/// In a catch block: the refusal that the exception is answered with.
Refusal refusal_of_exception(bool out_of_time = false);

/// Milliseconds as a time.
inline Clock::duration duration_of(double milliseconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

/// Milliseconds until the deadline; refuses a request whose deadline has passed. Nothing: there is no deadline.
std::optional<double> milliseconds_left(const Call& call);

}  // namespace frazil::server
