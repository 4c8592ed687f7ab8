#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/gate.h"
#include "server/message.h"
#include "server/service.h"

namespace frazil::server {

/// The kinds of ports. Each has its own routes.
enum class Door : std::uint8_t { models, metrics };

/// Open Inference Protocol v2 over REST with Triton's extensions, metrics and the live view, independent of the
/// transport. Thread-safe.
class Rest {
 public:
  using Done = std::function<void(Reply)>;

  explicit Rest(Service& service, Door door = Door::models) : service_(service), door_(door) {}

  /// The values of the placeholders in a path.
  struct Names {
    std::string model, version;  ///< empty version: the newest
    std::string item;            ///< number of a path, or file of the live view
  };
  struct Asked;
  /// A row of the routing table.
  struct Route {
    std::string_view method, path;  ///< "/v2/models/{model}/infer"
    Rule rule;
    void (Rest::*answer)(Asked asked, Done done) const;  ///< null: the transport sends live view events
    bool versions = false;                               ///< "/versions/{version}" may follow the model
    Door door = Door::models;
  };
  static std::span<const Route> routes();

  /// A request that the gate has admitted. Only admit() creates it.
  class Admitted {
   public:
    Admitted() = default;
    bool streams_events() const { return route_->answer == nullptr; }
    const Rule& rule() const { return route_->rule; }

   private:
    friend class Rest;
    const Route* route_ = nullptr;
    Names names_;
    Tenants::Asker asker_;
    std::shared_ptr<const Served> served_;  ///< for Access::model
  };

  /// Decides from the header of a message whether it is answered. Otherwise returns the refusal: unauthorized,
  /// forbidden, not_found, method_not_allowed, or unavailable for a model that is not ready.
  std::expected<Admitted, Reply> admit(const Message& head) const;

  /// Returns the refusal of a request that will be refused for lack of room or time, whatever its body contains.
  /// `begun` contains the received part of the body. Occupies no place.
  std::optional<Reply> refusal(const Admitted& admitted, const Message& begun, Clock::time_point arrived) const;

  /// Calls `done` once, immediately or later on a worker; never throws. `message` must be valid until then. Long work
  /// runs on workers. When `caller` leaves, its work is cancelled.
  ///
  /// For an answer in parts, `done` is called for each part in order, also on other threads. Parts with more to follow
  /// are passed to Caller::send().
  void answer(Admitted admitted, const Message& message, std::shared_ptr<Caller> caller, Clock::time_point arrived,
              const Done& done) const;

 private:
  Admitted let_in(const Message& head) const;
  const Route& route_of(const Message& head, Names& names) const;
  void check_known(const Message& head) const;
  Service::Arriving arriving(const Admitted& admitted, const Message& message, Clock::time_point arrived) const;

  void live(Asked asked, Done done) const;
  void ready(Asked asked, Done done) const;
  void server_metadata(Asked asked, Done done) const;
  void model_metadata(Asked asked, Done done) const;
  void model_ready(Asked asked, Done done) const;
  void model_config(Asked asked, Done done) const;
  void model_statistics(Asked asked, Done done) const;
  void model_splits(Asked asked, Done done) const;
  void all_statistics(Asked asked, Done done) const;
  void index(Asked asked, Done done) const;
  void infer(Asked asked, Done done) const;
  void load(Asked asked, Done done) const;
  void unload(Asked asked, Done done) const;
  void reset(Asked asked, Done done) const;
  void load_config(Asked asked, Done done) const;
  void list_paths(Asked asked, Done done) const;
  void show_path(Asked asked, Done done) const;
  void replay(Asked asked, Done done) const;
  void page(Asked asked, Done done) const;
  void metrics(Asked asked, Done done) const;

  void change(const Asked& asked, Done done, std::function<Reply()> work) const;
  /// Wraps `done` to occupy a place until the request is fully answered. Returns null, after answering, if no place is
  /// free.
  Done with_place(const Service::Arriving& arriving, Done done) const;
  /// Wraps `work` to answer its exceptions.
  static std::function<void()> answering(Done done, std::function<void(const Done&)> work);

  Service& service_;
  const Door door_;
};

/// A request that is being answered.
struct Rest::Asked {
  Names names;
  Tenants::Asker asker;
  std::shared_ptr<const Served> served;
  const Message& message;
  std::shared_ptr<Caller> caller;
  Clock::time_point arrived;
};

}  // namespace frazil::server
