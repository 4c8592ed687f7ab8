#include "server/net/coding.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include <zlib.h>

#include "server/core/message.h"

namespace frazil::server {
namespace {

constexpr std::size_t kStep = 64 * 1024;

/// Returns zlib's windowBits, which also select the format.
int window_of(Coding coding) {
  constexpr int kLargest = 15, kGzip = 16;
  return coding == Coding::gzip ? kLargest + kGzip : kLargest;
}

/// The cast is safe as zlib does not write to its input.
Bytef* zlib_input(std::string_view bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): see above
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = text.find_last_not_of(" \t");
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

bool equal_names(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string deflated_whole(std::string_view bytes, Coding coding) {
  constexpr int kQuickly = 1, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, kQuickly, Z_DEFLATED, window_of(coding), kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string to;
  int result = Z_OK;
  while (result == Z_OK) {
    // zlib's sizes have 32 bits.
    const std::size_t taken = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
    stream.next_in = zlib_input(bytes);
    stream.avail_in = static_cast<uInt>(taken);
    const std::size_t room = std::max<std::size_t>(deflateBound(&stream, static_cast<uLong>(taken)) / 2, kStep);
    to.resize_and_overwrite(to.size() + room, [&, before = to.size()](char* data, std::size_t) {
      stream.next_out = reinterpret_cast<Bytef*>(data + before);
      stream.avail_out = static_cast<uInt>(room);
      result = deflate(&stream, taken == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
      return before + room - stream.avail_out;
    });
    bytes.remove_prefix(taken - stream.avail_in);
  }
  deflateEnd(&stream);
  return to;
}

}  // namespace

std::optional<Coding> coding_from(std::string_view name) {
  if (name.empty() || equal_names(name, "identity")) return Coding::none;
  if (equal_names(name, "gzip") || equal_names(name, "x-gzip")) return Coding::gzip;
  if (equal_names(name, "deflate")) return Coding::deflate;
  return std::nullopt;
}

std::string_view name_of(Coding coding) {
  constexpr std::array<std::string_view, 3> kNames = {"identity", "gzip", "deflate"};
  return kNames.at(static_cast<std::size_t>(coding));
}

bool accepts(std::string_view list, Coding coding) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const std::size_t name = std::min(item.find(';'), item.size());
    if (coding_from(trimmed(item.substr(0, name))) != coding) continue;
    const std::string_view weight = trimmed(item.substr(std::min(name + 1, item.size())));
    return weight.find_first_not_of("Qq=0. ") != std::string_view::npos || weight.empty();
  }
  return false;
}

Inflater::Inflater(Coding coding) : coding_(coding), stream_(std::make_unique<z_stream>()) {
  if (inflateInit2(stream_.get(), window_of(coding)) != Z_OK) throw std::bad_alloc();
}
Inflater::~Inflater() {
  if (stream_ != nullptr) inflateEnd(stream_.get());
}
Inflater::Inflater(Inflater&& other) noexcept = default;
Inflater& Inflater::operator=(Inflater&& other) noexcept {
  std::swap(coding_, other.coding_);
  std::swap(ended_, other.ended_);
  std::swap(stream_, other.stream_);
  return *this;
}

void Inflater::add(std::string_view bytes, std::string& to, std::uint64_t most) {
  const auto damaged = [&] { throw Refusal(Http::bad_request, "invalid " + std::string(name_of(coding_)) + " data"); };
  stream_->next_in = zlib_input(bytes);
  stream_->avail_in = static_cast<uInt>(bytes.size());
  while (stream_->avail_in > 0 || stream_->avail_out == 0) {
    if (ended_) {  // gzip may have several members
      if (stream_->avail_in == 0) return;
      if (coding_ != Coding::gzip || inflateReset(stream_.get()) != Z_OK) damaged();
      ended_ = false;
    }
    const std::size_t room = std::min<std::uint64_t>(kStep, most - to.size() + 1);  // one byte more than allowed
    int result = Z_OK;
    to.resize_and_overwrite(to.size() + room, [&, before = to.size()](char* data, std::size_t) {
      stream_->next_out = reinterpret_cast<Bytef*>(data + before);
      stream_->avail_out = static_cast<uInt>(room);
      result = inflate(stream_.get(), Z_NO_FLUSH);
      return before + room - stream_->avail_out;
    });
    if (to.size() > most) {
      throw Refusal(Http::too_large, "what was compressed has more than " + std::to_string(most) + " bytes");
    }
    ended_ = result == Z_STREAM_END;
    if (result == Z_BUF_ERROR) break;
    if (result != Z_OK && !ended_) damaged();
  }
}

void Inflater::end() const {
  if (!ended_) throw Refusal(Http::bad_request, "the compressed bytes are cut off");
}

std::optional<std::string> deflated(std::string_view bytes, Coding coding) try {
  constexpr std::size_t kSample = 4 * 1024;
  constexpr double kWorthIt = 0.8;  // largest ratio of compressed to original size
  const std::string_view sample = bytes.substr(bytes.size() / 2, kSample);
  const auto shorter = [](const std::string& to, std::string_view from) {
    return static_cast<double>(to.size()) < kWorthIt * static_cast<double>(from.size());
  };
  if (sample.size() < bytes.size() / 2 && !shorter(deflated_whole(sample, coding), sample)) return std::nullopt;
  std::string to = deflated_whole(bytes, coding);
  return shorter(to, bytes) ? std::optional(std::move(to)) : std::nullopt;
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

}  // namespace frazil::server
