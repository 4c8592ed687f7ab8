#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/error.h>
#include <frazil/model.h>

#include "govern/gate/kept_decisions.h"
#include "server/config/model_config.h"
#include "server/core/statistics.h"
#include "server/model/request_counts.h"
#include "server/request/labels.h"
#include "server/request/request.h"

namespace frazil::server {

/// The state of a version that governance needs. The manifest and the labels are set before the version is published,
/// and then constant.
struct VersionGovernance {
  govern::KeptDecisions run = {};    ///< permits of a policy for requests, by tenant
  govern::KeptDecisions named = {};  ///< for requests that name the version
  std::string manifest = {};  ///< digest of the manifest by which an audit log has kept the definition; empty: not kept
  std::shared_ptr<const Labels> labels = {};  ///< of its values
};

/// One version of a servable: an ONNX model or a pipeline, which clients see as a model. Thread-safe.
class Served : public std::enable_shared_from_this<Served> {
 public:
  Served(std::string name, std::string version) : name_(std::move(name)), version_(std::move(version)) {}
  virtual ~Served() = default;
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  /// Returns the statistics of all requests.
  Statistics& statistics() const { return counts_->all(); }
  RequestCounts& counts() const { return *counts_; }
  VersionGovernance& governance() const { return governance_; }
  /// Continues the counts of `before`, which this version replaces. Call it before publishing the version.
  void continue_counts_of(const Served& before) {
    before.counts_->costs()->add(*counts_->costs());
    counts_ = before.counts_;
  }

  virtual std::string_view platform() const = 0;
  virtual const std::vector<api::Port>& inputs() const = 0;
  virtual const std::vector<api::Port>& outputs() const = 0;
  /// Returns outputs that are sent in parts before the answer, each any number of times. Those also in outputs() have
  /// their last value in the answer. Empty: there are no parts.
  virtual const std::vector<api::Port>& emitted() const;
  /// Returns true if a request must provide an input, which has neither a default nor state.
  virtual bool needs(const api::Port& input) const { return !input.optional; }
  /// Returns "sha256:...", which is equal for equal content.
  virtual std::string digest() const = 0;
  /// Returns the refusal (too_many) if too many requests already wait. Fast enough to call before a request is read.
  virtual std::optional<Refusal> refusal() const { return std::nullopt; }
  /// Counts of runs that were compared with the reference executor.
  struct Checked {
    std::uint64_t runs = 0, different = 0;
  };
  virtual Checked checked() const { return {}; }
  /// Returns the time-out of a request that specifies none; nullopt: unlimited.
  virtual std::optional<Clock::duration> usual_limit() const { return std::nullopt; }
  /// Returns the class names of an output, by index; empty if it has none.
  virtual const std::vector<std::string>& labels(std::string_view output) const;
  /// Returns how the model is configured to batch requests and to keep state.
  virtual const ModelConfig& config() const;
  /// Returns the names of personal values that its own configuration declares; "*": all.
  virtual const std::vector<std::string>& personal() const { return config().personal; }
  /// Returns the batch axis; nullopt if there is none or requests share the value.
  virtual std::optional<std::size_t> batch_axis_of_input(std::size_t) const { return std::nullopt; }
  virtual std::optional<std::size_t> batch_axis_of_output(std::size_t) const { return std::nullopt; }
  /// Returns the expected duration of a run, based on earlier runs; zero before the first.
  virtual Clock::duration expected_time() const;

  /// Returns true if requests have been cheaper than a hand-over to a worker and do nothing but run a model.
  virtual bool may_run_inline() const { return false; }

  /// Calls `call.done` once, on any thread, possibly before it returns. Called on a worker, or where blocking for the
  /// model's run time is acceptable. Never throws. Sets the fields of the response that identify the model.
  void infer(Call call) const;

 protected:
  virtual void start(Call call) const = 0;

 private:
  void count_parts(Call& call) const;

  std::string name_, version_;
  mutable VersionGovernance governance_;
  std::shared_ptr<RequestCounts> counts_ = std::make_shared<RequestCounts>();
};

/// Returns all possible outputs of a response: outputs(), followed by those that are only sent in parts.
std::vector<api::Port> all_outputs(const Served& served);
/// Returns the expected worker time of a request, based on earlier runs; zero before the first.
inline Clock::duration expected_cost(const Served& served) { return served.statistics().cost.value(); }

/// Returns true for an input that carries the state of a sequence from request to request.
bool is_state(const Served& served, std::string_view input);

/// Returns the status for an error of the library. `out_of_time`: the exceeded limit is the time-out.
Http status_of(api::Code code, bool out_of_time);

/// Call in a catch block. Returns the refusal for the exception.
Refusal refusal_of_exception(bool out_of_time = false);

inline Clock::duration duration_of(double milliseconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

/// Returns the milliseconds until the deadline, or nullopt without a deadline. Throws Refusal if the deadline has
/// passed.
std::optional<double> milliseconds_left(const Call& call);

}  // namespace frazil::server
