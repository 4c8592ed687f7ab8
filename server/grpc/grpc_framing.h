#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/core/message.h"
#include "server/net/coding.h"

// gRPC's framing of messages in a stream.
namespace frazil::server {

using SharedBytes = std::shared_ptr<const std::string>;

inline constexpr std::size_t kPrefix = 5;  // a flag, and the big-endian size of the following message

inline std::array<char, kPrefix> prefix_of(std::size_t size, bool compressed) {
  return {static_cast<char>(compressed), static_cast<char>(size >> 24U), static_cast<char>(size >> 16U),
          static_cast<char>(size >> 8U), static_cast<char>(size)};
}

/// Extracts messages from a stream's bytes, one after the other.
class MessageReader {
 public:
  /// Takes bytes up to the end of a message, which may be compressed with `coding`. Throws Refusal for a malformed or
  /// too large message.
  void take(std::string_view& bytes, Coding coding, std::uint64_t most) {
    while (!bytes.empty() && prefix_size_ < kPrefix) {
      prefix_[prefix_size_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      if (prefix_size_ == kPrefix) open(coding, most);
    }
    if (prefix_size_ < kPrefix) return;
    const std::string_view piece = bytes.substr(0, left_);
    bytes.remove_prefix(piece.size());
    left_ -= piece.size();
    if (!inflater_) {
      if (message_->size() + piece.size() > message_->capacity())
        message_->reserve(message_->size() + piece.size() + left_);
      message_->append(piece);
    } else {
      inflater_->add(piece, *message_, most);
      if (left_ == 0) inflater_->end();
    }
  }
  bool complete() const { return prefix_size_ == kPrefix && left_ == 0; }
  /// Returns the number of announced bytes that have not arrived.
  std::size_t missing() const { return left_; }
  /// Returns the number of bytes held.
  std::size_t bytes() const { return prefix_size_ + (message_ == nullptr ? 0 : message_->size()); }
  bool empty() const { return prefix_size_ == 0; }
  SharedBytes release() {
    prefix_size_ = 0;
    inflater_.reset();
    return std::exchange(message_, nullptr);
  }

 private:
  /// Begins a message. Reserves little memory, since the size is only announced so far.
  void open(Coding coding, std::uint64_t most) {
    constexpr std::size_t kAtOnce = 1 << 20;
    const bool compressed = prefix_[0] == 1;
    if (prefix_[0] > 1) throw Refusal(Http::bad_request, "a message begins with a flag that is not 0 or 1");
    if (compressed && coding == Coding::none) {
      throw Refusal(Http::internal,
                    "a message has the flag of a compressed one, and header grpc-encoding names no way");
    }
    left_ = 0;
    for (std::size_t i = 1; i < kPrefix; ++i) left_ = left_ << 8U | prefix_[i];
    if (left_ > most) throw Refusal(Http::too_large, "the message has more than " + std::to_string(most) + " bytes");
    message_ = std::make_shared<std::string>();
    if (compressed) inflater_.emplace(coding);
    message_->reserve(std::min(left_, kAtOnce));
  }

  std::array<unsigned char, kPrefix> prefix_ = {};
  std::size_t prefix_size_ = 0, left_ = 0;  // received bytes of the prefix; missing bytes of the message
  std::optional<Inflater> inflater_;        // for a compressed message
  std::shared_ptr<std::string> message_;
};

}  // namespace frazil::server
