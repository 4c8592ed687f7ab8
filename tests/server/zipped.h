#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <zlib.h>

// gzip and deflate by zlib alone.
namespace frazil::test {

constexpr int kZlib = 15, kGzip = 15 + 16;  // windows, as zlib tells formats apart

inline std::string zipped(std::string_view bytes, int window = kGzip) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string to(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(to.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  to.resize(stream.total_out);
  deflateEnd(&stream);
  return to;
}

/// Of at most so many bytes.
inline std::string unzipped(std::string_view bytes, std::size_t most, int window = kGzip) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, window), Z_OK);
  std::string to(most, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(to.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  to.resize(stream.total_out);
  inflateEnd(&stream);
  return to;
}

}  // namespace frazil::test
