#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include "tool/carry.h"
#include "tool/spec.h"
#include "tool/stream.h"

namespace frazil::tool {

/// --input, --stream and --carry as written.
struct RequestOptions {
  std::vector<std::string> inputs;
  std::string stream;
  std::vector<std::string> carry;
};
void add_requests(CLI::App& app, RequestOptions& options);

/// The requests that the options describe: one, or as many as the stream has lines.
class Requests {
 public:
  static Result<Requests> make(const ValueSource& source, const RequestOptions& options);

  bool streaming() const { return stream_.has_value(); }
  bool carries() const { return !carry_.empty(); }
  /// Inputs of the next request in graph order, an empty Datum for what was not given; nullopt after the last.
  Result<std::optional<std::vector<Datum>>> next();
  /// Reads the whole stream, so that next() reads no file and restart() may be called.
  Status preload();
  /// The first request again. What is carried starts anew with a stream; without one each pass goes on from the last.
  void restart();
  /// Tells what the request gave, for --carry.
  void done(std::span<const Datum> outputs) { carry_.take(outputs); }

 private:
  Result<std::optional<Stream::Inputs>> next_changes();

  std::vector<Datum> base_;
  Carry carry_;
  std::optional<Stream> stream_;
  std::optional<std::vector<Stream::Inputs>> loaded_;
  std::size_t at_ = 0;
};

}  // namespace frazil::tool
