#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/caller.h"
#include "server/message.h"

namespace frazil::server {

/// Writes an answer that comes in parts: in chunks for HTTP/1.1, and for HTTP/1.0 up to the connection's end. Knows no
/// socket. Used on one thread.
class AnswerStream {
 public:
  using Ended = std::function<void(bool good)>;
  /// Writes bytes, which stay until `ended` is called: once, and not before it returns.
  using Write = std::function<void(std::string_view bytes, Ended ended)>;

  struct Form {
    bool chunked = true;
    bool keep_alive = true;  ///< as the client is told
  };
  /// `caller` is told what was sent to him, and leaves where that fails. `over` is called once: behind the last byte,
  /// or where bytes cannot be written. It may destroy the object.
  AnswerStream(Form form, std::shared_ptr<Caller> caller, Write write, Ended over);
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;

  /// Takes the first reply, which has status and headers, and then the others up to the one without more behind it.
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
  std::size_t parts_writing_ = 0, parts_waiting_ = 0;  // bytes of parts among them
  bool begun_ = false, last_ = false, busy_ = false;
};

}  // namespace frazil::server
