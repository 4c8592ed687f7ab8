#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/gate.h"
#include "server/core/caller.h"
#include "server/core/message.h"
#include "server/request/request.h"
#include "server/service/service.h"

namespace frazil::server {

/// The gRPC status codes that this server returns.
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
  std::string text;   ///< one line for the client if the code is not ok
  std::string bytes;  ///< the message if the code is ok
  bool compressed = false;
  std::string plain = {};  ///< the text without what a request may contain; empty: `text` is that
  bool more = false;       ///< more replies to the same message follow; the stream's next message may run meanwhile
};

GrpcReply reply_of(const Refusal& refusal);

/// One message of a call.
struct GrpcCall {
  std::string_view method;  ///< "/package.Service/Method"; valid during answer()
  std::shared_ptr<const std::string> message;
  std::shared_ptr<Caller> caller;
  Clock::time_point arrived;
  std::optional<Clock::time_point> deadline;
  std::string authorization, host, trace;         ///< headers authorization, :authority and traceparent
  std::optional<std::string> origin = {};         ///< header origin
  std::span<const std::string> certificate = {};  ///< names in the client's certificate; valid during answer()
  std::string session;                            ///< the sequence of a request that names none; empty: none
  InlineRunSlot* inline_slot = nullptr;           ///< of the reading thread; null: run the call on workers
  Tenants::Identity identity = {};                ///< set by answer()

  Credentials by() const {
    return {.authorization = authorization, .certificate = certificate, .host = host, .origin = origin};
  }
};

/// Open Inference Protocol v2 over gRPC (Triton's inference.GRPCInferenceService) and grpc.health.v1.Health,
/// independent of the transport. Thread-safe.
class Grpc {
 public:
  using Done = std::function<void(GrpcReply)>;
  enum class Kind : std::uint8_t {
    unary,      ///< one message each
    streaming,  ///< a stream of messages each
    watching,   ///< takes one message; returns its value now, and again whenever it changes
  };

  explicit Grpc(Service& service) : service_(service) {}

  /// Throws Refusal (unsupported) for an unknown method.
  static Kind kind_of(std::string_view method);

  /// A row of the routing table.
  struct Listed {
    std::string_view name;
    Rule rule;
  };
  static std::vector<Listed> methods();

  /// The known properties of a call before its message has arrived.
  struct CallHeader {
    std::string_view method;
    Credentials by;
    std::optional<Clock::time_point> deadline;
  };
  struct Admitted {
    Tenants::Identity identity;
    std::optional<Refusal> refusal;  ///< that answer() would give regardless of the message
  };
  /// Decides from the header of a call whether it is answered, without occupying a place. Throws Refusal for an unknown
  /// method and for a caller that the gate does not admit.
  Admitted admit(const CallHeader& call) const;
  /// Returns the model that a message is for; "" for none, and if the message cannot be read. Never throws.
  static std::string model_in(std::string_view method, std::string_view message);
  /// Returns the current value of a message of a watching method. The caller was admitted. Throws Refusal.
  std::string value_of(std::string_view method, std::string_view message) const;

  /// Calls `done` once, immediately or later on any thread. Long work runs on workers. Never throws. A message of a
  /// streaming method is always answered with a message, which may contain an error.
  ///
  /// For an answer in parts, `done` is also called with each part before, in order, after Caller::send() for its bytes.
  /// A part without bytes is not a message and only announces the others.
  void answer(GrpcCall call, Done done) const;

 private:
  static void check_model(const GrpcCall& call);

  Service& service_;
};

}  // namespace frazil::server
