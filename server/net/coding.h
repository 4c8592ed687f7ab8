#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct z_stream_s;

// Compression: content codings of HTTP and message encodings of gRPC, which share their names.
namespace frazil::server {

enum class Coding : std::uint8_t { none, gzip, deflate };

inline constexpr std::string_view kCodings = "gzip, deflate, identity";

/// Parses a name, ignoring case. "" and "identity" are Coding::none. Returns nullopt for an unknown name.
std::optional<Coding> coding_from(std::string_view name);
std::string_view name_of(Coding coding);
/// Returns true if a list such as "deflate;q=0.5, gzip" contains a coding.
bool accepts(std::string_view list, Coding coding);

/// A streaming decompressor.
class Inflater {
 public:
  explicit Inflater(Coding coding);
  ~Inflater();
  Inflater(Inflater&& other) noexcept;
  Inflater& operator=(Inflater&& other) noexcept;

  /// Appends the decompressed bytes to `to`. Throws Refusal: bad_request for malformed bytes, too_large as soon as `to`
  /// is larger than `most` bytes.
  void add(std::string_view bytes, std::string& to, std::uint64_t most);
  /// Ends the input. Throws Refusal (bad_request) if it is truncated.
  void end() const;

 private:
  Coding coding_;
  bool ended_ = false;
  std::unique_ptr<z_stream_s> stream_;
};

/// Compresses bytes with a fast setting. Returns nullopt if the result would be hardly shorter, estimated from a
/// sample, or if memory is exhausted.
std::optional<std::string> deflated(std::string_view bytes, Coding coding);

}  // namespace frazil::server
