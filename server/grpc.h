#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/caller.h"
#include "server/gate.h"
#include "server/message.h"
#include "server/request.h"
#include "server/service.h"

namespace frazil::server {

/// gRPC's status codes that this server answers with.
enum class GrpcCode : unsigned {
  ok = 0,
  cancelled = 1,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  permission_denied = 7,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};

GrpcCode grpc_code_of(Http status);

struct GrpcReply {
  GrpcCode code = GrpcCode::ok;
  std::string text;   ///< one line for the client where it is not ok
  std::string bytes;  ///< the message where it is
  bool compressed = false;
  bool more = false;  ///< others follow for the same message; the next message of the stream runs meanwhile
};

GrpcReply reply_of(const Refusal& refusal);

/// One message for a method.
struct GrpcCall {
  std::string_view method;  ///< "/package.Service/Method"; valid while answer() runs
  std::shared_ptr<const std::string> message;
  std::shared_ptr<Caller> caller;
  Clock::time_point arrived;
  std::optional<Clock::time_point> deadline;
  std::string authorization, host, trace;         ///< of the headers authorization, :authority and traceparent
  std::optional<std::string> origin = {};         ///< of the header origin
  std::span<const std::string> certificate = {};  ///< names in the client's; valid while answer() runs
  std::string session;                            ///< the sequence of a request that names none; empty: none
  Spot* spot = nullptr;                           ///< of the thread that has read it; null: it is for workers
  Tenants::Asker asker = {};                      ///< is found by answer()

  Credentials by() const {
    return {.authorization = authorization, .certificate = certificate, .host = host, .origin = origin};
  }
};

/// Open Inference Protocol v2 over gRPC, Triton's service inference.GRPCInferenceService, and grpc.health.v1.Health.
/// Knows no transport. Thread-safe.
class Grpc {
 public:
  using Done = std::function<void(GrpcReply)>;
  enum class Kind : std::uint8_t { unary, streaming };

  explicit Grpc(Service& service) : service_(service) {}

  /// How many messages a method takes and gives: one each, or in turns any number. Throws Refusal (unsupported) for a
  /// method that there is not.
  static Kind kind_of(std::string_view method);

  /// A row of the table by which calls are routed.
  struct Listed {
    std::string_view name;
    Rule rule;
  };
  static std::vector<Listed> methods();

  /// What is known of a call before its message has come.
  struct Begun {
    std::string_view method;
    Credentials by;
    std::optional<Clock::time_point> deadline;
  };
  /// Why answer() would refuse a call now whatever its message has; takes no place. Throws Refusal for a method that
  /// there is not, and for a caller that the gate does not let in.
  std::optional<Refusal> refusal(const Begun& call) const;

  /// Calls `done` once, at once or later on any thread; never throws. What takes long runs on workers. The message of a
  /// streaming method is answered with a message in any case, which may tell of an error. Where its answer comes in
  /// parts, `done` is called before with each of them, in order: Caller::send() was called for their bytes. One without
  /// bytes is no message, and only tells that the others come.
  void answer(GrpcCall call, Done done) const;

 private:
  static void check_model(const GrpcCall& call);

  Service& service_;
};

}  // namespace frazil::server
