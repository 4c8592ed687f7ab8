#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/access/gate.h"
#include "server/core/message.h"
#include "server/service/service.h"

namespace frazil::server {

/// The kinds of ports. Each has its own routes.
enum class PortKind : std::uint8_t { models, metrics };

/// Open Inference Protocol v2 over REST with Triton's extensions, metrics and the live view, independent of the
/// transport. Thread-safe.
class Rest {
 public:
  using Done = std::function<void(Reply)>;

  explicit Rest(Service& service, PortKind port_kind = PortKind::models) : service_(service), port_kind_(port_kind) {}

  /// The values of the placeholders in a path.
  struct Names {
    std::string model, version;  ///< empty version: the newest
    std::string item;            ///< number of a path, or file of the live view
  };
  struct ActiveRequest;
  /// The function that answers the requests of a route; one member is set. Neither: the transport sends live view
  /// events.
  struct Handler {
    using AtOnce = Reply (*)(Service& service, const ActiveRequest& asked);
    using Later = void (Rest::*)(ActiveRequest& asked, Done done) const;
    AtOnce at_once = nullptr;  ///< short; called on the transport's thread; may throw Refusal
    Later later = nullptr;     ///< may move from `asked`
    constexpr Handler(AtOnce f) : at_once(f) {}
    constexpr Handler(Later f) : later(f) {}
    constexpr Handler(std::nullptr_t) {}
    constexpr bool streams_events() const { return at_once == nullptr && later == nullptr; }
  };
  /// A row of the routing table.
  struct Route {
    std::string_view method, path;  ///< "/v2/models/{model}/infer"
    Rule rule;
    Handler handler;
    bool versions = false;  ///< "/versions/{version}" may follow the model
    PortKind port_kind = PortKind::models;
  };
  static std::span<const Route> routes();

  /// A request that the gate has admitted. Only admit() creates it.
  class Admitted {
   public:
    Admitted() = default;
    bool streams_events() const { return route_->handler.streams_events(); }
    const Rule& rule() const { return route_->rule; }
    const std::string& tenant() const { return identity_.name(); }
    const std::string& model() const { return names_.model; }

   private:
    friend class Rest;
    const Route* route_ = nullptr;
    Names names_;
    Tenants::Identity identity_;
    std::shared_ptr<const Served> served_;  ///< for Access::model
  };

  /// Decides from the header of a message whether it is answered. Otherwise returns the refusal: unauthorized,
  /// forbidden, not_found, method_not_allowed, or unavailable for a model that is not ready.
  std::expected<Admitted, Reply> admit(const Message& head) const;

  /// Returns the refusal of a request that will be refused for lack of room or time, whatever its body contains.
  /// `begun` contains the received part of the body. `ahead`: requests that get their places before it. Occupies no
  /// place.
  std::optional<Reply> refusal(const Admitted& admitted, const Message& begun, Clock::time_point arrived,
                               std::size_t ahead) const;

  /// Asks the policy for the route of an event stream; answer() does so for all others. Throws Refusal.
  void check_action(const Admitted& admitted) const;
  /// Calls `done` once, immediately or later on a worker; never throws. `message` must be valid until then. Long work
  /// runs on workers. When `caller` leaves, its work is cancelled.
  ///
  /// For an answer in parts, `done` is called for each part in order, also on other threads. Parts with more to follow
  /// are passed to Caller::send().
  void answer(Admitted admitted, const Message& message, std::shared_ptr<Caller> caller, Clock::time_point arrived,
              const Done& done) const;

 private:
  Admitted admit_request(const Message& head) const;
  const Route& route_of(const Message& head, Names& names) const;
  void check_known(const Message& head) const;
  Service::IncomingRequest arriving(const Admitted& admitted, const Message& message, Clock::time_point arrived) const;

  void infer(ActiveRequest& asked, Done done) const;
  void index(ActiveRequest& asked, Done done) const;
  void load(ActiveRequest& asked, Done done) const;
  void unload(ActiveRequest& asked, Done done) const;
  void reset(ActiveRequest& asked, Done done) const;
  void load_config(ActiveRequest& asked, Done done) const;
  void erase(ActiveRequest& asked, Done done) const;
  void load_policy(ActiveRequest& asked, Done done) const;
  void replay(ActiveRequest& asked, Done done) const;

  void change(const ActiveRequest& asked, Done done, std::function<Reply()> work) const;
  /// Wraps `done` to occupy a place until the request is fully answered. Returns null, after answering, if no place is
  /// free.
  Done with_place(const Service::IncomingRequest& arriving, Done done) const;
  /// Wraps `work` to answer its exceptions.
  static std::function<void()> answering(Done done, std::function<void(const Done&)> work);

  Service& service_;
  const PortKind port_kind_;
};

/// A request that is being answered.
struct Rest::ActiveRequest {
  Names names;
  Tenants::Identity identity;
  std::shared_ptr<const Served> served;
  const Message& message;
  std::shared_ptr<Caller> caller;
  Clock::time_point arrived;
};

}  // namespace frazil::server
