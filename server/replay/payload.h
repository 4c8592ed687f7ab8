#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/recording.h"
#include "server/request/request.h"

// The record of a request in the audit log, from which it can be replayed. docs/reference/replay-payload.md specifies
// the bytes.
namespace frazil::server {

/// An output of a request. A large one is represented by its digest.
struct RecordedOutput {
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;  ///< of a value that is stored
  std::string name;
  api::Array value;    ///< empty if `digest` represents it
  std::string digest;  ///< digest_of_array(), or empty
};

struct Payload {
  std::string manifest;  ///< digest of the definition's manifest, "sha256:..."
  Http status = Http::ok;
  std::string error;  ///< of a failed request
  std::map<std::string, Parameter> parameters;
  std::vector<WantedOutput> wanted;  ///< names and numbers of classes
  std::vector<NamedArray> inputs;
  std::vector<Happening> happenings;
  std::vector<RecordedOutput> outputs;
};

/// Returns "sha256:..." of an array's type, extents and elements.
std::string digest_of_array(const api::Array& array);
RecordedOutput recorded_output(const NamedArray& output);

/// Throws std::length_error for texts and lists beyond the limits of the form.
std::string bytes_of_payload(const Payload& payload);
/// Reads bytes of bytes_of_payload(). Throws StateFault if they are damaged or of another version. Memory use is
/// proportional to the size of the bytes.
Payload payload_of(std::string_view bytes);

}  // namespace frazil::server
