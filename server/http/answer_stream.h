#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/core/caller.h"
#include "server/core/message.h"

namespace frazil::server {

/// Writes an answer that arrives in parts. HTTP/1.1 answers are chunked; an HTTP/1.0 answer ends with the connection.
/// The class is independent of sockets. Used on one thread.
class AnswerStream {
 public:
  using Ended = std::function<void(bool good)>;
  /// Writes bytes, which stay valid until `ended` is called. `ended` must be called exactly once, after this call has
  /// returned.
  using Write = std::function<void(std::string_view bytes, Ended ended)>;

  struct Form {
    bool chunked = true;
    bool keep_alive = true;  ///< value of the Connection header
  };
  /// `caller` is notified of the bytes sent and leaves if a write fails. `over` is called once: after the last byte, or
  /// when a write fails. It may destroy the object.
  AnswerStream(Form form, std::shared_ptr<Caller> caller, Write write, Ended over);
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;

  /// Takes the first reply, which has status and headers, and then the following ones. The last has `more` false.
  void add(const Reply& reply);

 private:
  void append(std::string_view part);
  void flush();
  void written(bool good);

  const Form form_;
  const std::shared_ptr<Caller> caller_;
  const Write write_;
  const Ended over_;
  std::string writing_, waiting_;
  std::size_t parts_writing_ = 0, parts_waiting_ = 0;  // bytes of partial answers among them
  bool begun_ = false, last_ = false, busy_ = false;
};

}  // namespace frazil::server
