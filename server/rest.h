#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "server/message.h"
#include "server/service.h"

namespace frazil::server {

/// The Open Inference Protocol v2 over REST, with Triton's extensions. Knows no transport. Thread-safe.
class Rest {
 public:
  using Done = std::function<void(Reply)>;

  explicit Rest(Service& service) : service_(service) {}

  /// The answer to a request that is refused whatever else its body has, as by answer(); `begun` has what has come of
  /// it. Nothing: it may go on, and takes no place before answer(). Never throws but for memory.
  std::optional<Reply> refusal(const Message& begun, Clock::time_point arrived) const;

  /// Calls `done` once, at once or later on a worker; never throws. `message` must be valid until then. What takes
  /// long runs on workers. `caller`: his leaving ends what runs for him. For an answer in parts `done` is called for
  /// each, in order, also on other threads; those that have more behind them are Caller::send() to him.
  void answer(const Message& message, std::shared_ptr<Caller> caller, Clock::time_point arrived,
              const Done& done) const;

 private:
  struct Path;
  /// Who sends a message, and who waits for its answer.
  struct Sender {
    Tenants::Asker asker;
    std::shared_ptr<Caller> caller;
    Clock::time_point arrived;
  };
  Tenants::Asker asker_of(const Message& message) const;
  std::optional<Refusal> why_refused(const Message& begun, Clock::time_point arrived) const;
  Service::Arriving arriving(const Message& message, const Served& served, const Sender& sender) const;
  void route(const Message& message, const Sender& sender, Done done) const;
  void of_model(const Message& message, const Path& path, const Sender& sender, Done done) const;
  void infer(const Message& message, std::shared_ptr<const Served> served, const Sender& sender, Done done) const;
  void of_paths(const Message& message, const Sender& sender, Done done) const;
  void replay(const Message& message, std::uint64_t number, const Sender& sender, Done done) const;
  void change(const Message& message, std::string_view rest, const Sender& sender, Done done) const;
  void reload_config(const Sender& sender, Done done) const;
  /// Holds a place until the request is answered to the end. Null: there is none, which was answered.
  Done with_place(const Service::Arriving& arriving, Done done) const;
  /// An exception of `work` is answered.
  void on_worker(Done done, std::function<void(const Done&)> work) const;
  static std::function<void()> answering(Done done, std::function<void(const Done&)> work);

  Service& service_;
};

}  // namespace frazil::server
