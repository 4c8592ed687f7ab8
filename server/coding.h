#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct z_stream_s;

// Compressed bytes: content codings of HTTP and message encodings of gRPC, which have the same names.
namespace frazil::server {

enum class Coding : std::uint8_t { none, gzip, deflate };

inline constexpr std::string_view kCodings = "gzip, deflate, identity";

/// By its name in whatever case; "" and identity are none. Nothing for another name.
std::optional<Coding> coding_from(std::string_view name);
std::string_view name_of(Coding coding);
/// Whether a list such as "deflate;q=0.5, gzip" has a coding.
bool accepts(std::string_view list, Coding coding);

/// Takes compressed bytes as they come.
class Inflater {
 public:
  explicit Inflater(Coding coding);
  ~Inflater();
  Inflater(Inflater&& other) noexcept;
  Inflater& operator=(Inflater&& other) noexcept;

  /// Appends what they give. Throws Refusal: bad_request for bytes that are not in this form, too_large as soon as they
  /// give more than `most` bytes in all.
  void add(std::string_view bytes, std::string& to, std::uint64_t most);
  /// There are no more. Throws Refusal (bad_request) where some are missing.
  void end() const;

 private:
  Coding coding_;
  bool ended_ = false;
  std::unique_ptr<z_stream_s> stream_;
};

/// The bytes compressed, quickly rather than well; nothing where they would hardly be shorter, which a part of them
/// tells, or where there is no memory.
std::optional<std::string> deflated(std::string_view bytes, Coding coding);

}  // namespace frazil::server
