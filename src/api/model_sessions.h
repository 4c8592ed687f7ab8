#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "api/access.h"

namespace frazil::api {

/// The executor's sessions of one public session: that of the model, and that of the lenient model whose inputs share
/// no extents. The latter is opened on first use. Settings apply to both. Not thread-safe, except cancel().
class ModelSessions {
 public:
  /// `stop` is the flag that cancels runs. The model must outlive this. Throws for invalid options, and if the model
  /// cannot be planned.
  ModelSessions(const Model& model, const Options& options, std::atomic<bool>* stop);

  exec::Session& main() const { return *main_; }
  const exec::Executable& executable() const { return main_->executable(); }
  /// Returns the session that runs these inputs: main(), unless the model is lenient and extents of one name differ.
  /// Throws if the other session cannot be opened.
  exec::Session& of(std::span<const Datum> inputs);

  void set_limits(const Limits& limits);
  void set_context(std::shared_ptr<void> context);
  void set_observer(exec::Observer* observer);
  void cancel() noexcept;
  void trim();
  /// Returns the sums of both.
  Counters counters() const;
  std::string explain() const;

 private:
  void open_other();
  std::unique_ptr<exec::Session> opened(Access::ModelImpl& model) const;
  template <class F>
  void each(const F& apply) const {
    apply(*main_);
    if (other_ != nullptr) apply(*other_);
  }

  Access::ModelImpl& model_;
  const Options options_;
  std::atomic<bool>* const stop_;
  std::unique_ptr<exec::Session> main_, other_;
  std::atomic<exec::Session*> cancellable_{nullptr};  ///< other_, for cancel()
  Limits limits_;
  std::shared_ptr<void> context_;
  exec::Observer* observer_ = nullptr;
};

}  // namespace frazil::api
