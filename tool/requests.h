#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <frazil/session.h>

#include "tool/carry.h"
#include "tool/spec.h"
#include "tool/stream.h"

namespace frazil::tool {

/// The texts of --input, --stream and --carry.
struct RequestOptions {
  std::vector<std::string> inputs;
  std::string stream;
  std::vector<std::string> carry;
};
void add_requests(CLI::App& app, RequestOptions& options);

/// The requests described by the options: a single one, or one per line of the stream.
class Requests {
 public:
  static Requests make(const ValueSource& source, const RequestOptions& options);

  bool streaming() const { return stream_.has_value(); }
  bool carries() const { return !carry_.empty(); }
  /// Returns the inputs of the next request in graph order, or nullopt after the last. An omitted input with a default
  /// is an empty Array. Throws Code::bad_input, with options that give values, if inputs without a default are
  /// omitted.
  std::optional<std::vector<Array>> next();
  /// Reads the whole stream, so that next() reads no files. Required for restart().
  void preload();
  /// Returns to the first request. Carried values are reset with a stream; without one they continue from the last
  /// request.
  void restart();
  /// Passes the outputs of a request to --carry.
  void done(std::span<const Array> outputs) { carry_.take(outputs); }

 private:
  std::optional<Stream::Inputs> next_changes();

  std::vector<Port> ports_;
  std::vector<Array> base_;
  Carry carry_;
  std::optional<Stream> stream_;
  std::optional<std::vector<Stream::Inputs>> loaded_;
  std::size_t at_ = 0;
};

/// Runs all requests and restarts them. Returns the total time of the runs in seconds.
double run_all(api::Session& session, Requests& requests);

}  // namespace frazil::tool
