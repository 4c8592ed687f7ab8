#pragma once

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/host_tensor.h"

namespace bench {

static_assert(std::endian::native == std::endian::little, "the .npy files here are little-endian");

namespace npy {

inline constexpr std::pair<Elem, const char*> kDescr[] = {
    {Elem::f32, "<f4"}, {Elem::f64, "<f8"}, {Elem::f16, "<f2"}, {Elem::i8, "|i1"},
    {Elem::i16, "<i2"}, {Elem::i32, "<i4"}, {Elem::i64, "<i8"}, {Elem::u8, "|u1"},
    {Elem::u16, "<u2"}, {Elem::u32, "<u4"}, {Elem::u64, "<u8"}, {Elem::boolean, "|b1"},
};

[[noreturn]] inline void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

/// The text of `key`'s value in the header's dictionary, from its first character on.
inline std::string value_of(const std::string& path, const std::string& header, const std::string& key) {
  std::size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) fail(path, "no '" + key + "' in the .npy header");
  at = header.find(':', at);
  if (at != std::string::npos) at = header.find_first_not_of(" :", at);
  if (at == std::string::npos) fail(path, "malformed .npy header");
  return header.substr(at);
}

inline Dims parse_shape(const std::string& path, const std::string& text) {
  std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string::npos) fail(path, "malformed .npy shape");
  Dims dims;
  for (std::size_t at = 1; at < end;) {
    if (!std::isdigit(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    std::int64_t dim = 0;
    for (; std::isdigit(static_cast<unsigned char>(text[at])); ++at) dim = dim * 10 + (text[at] - '0');
    dims.push_back(dim);
  }
  return dims;
}

}  // namespace npy

/// Reads a little-endian, C-ordered .npy file of numbers or bools. Throws std::runtime_error that names the file.
inline HostTensor read_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) npy::fail(path, "cannot be opened");
  unsigned char head[8];
  in.read(reinterpret_cast<char*>(head), sizeof head);
  if (!in || std::memcmp(head, "\x93NUMPY", 6) != 0) npy::fail(path, "is no .npy file");
  std::uint32_t length = 0;
  in.read(reinterpret_cast<char*>(&length), head[6] == 1 ? 2 : 4);
  if (!in || length > (1u << 20)) npy::fail(path, "malformed .npy header");
  std::string header(length, '\0');
  in.read(header.data(), length);
  if (!in) npy::fail(path, "truncated .npy header");

  if (npy::value_of(path, header, "fortran_order").starts_with("True")) npy::fail(path, "is in Fortran order");
  std::string descr = npy::value_of(path, header, "descr").substr(1, 3);
  auto row = std::find_if(std::begin(npy::kDescr), std::end(npy::kDescr),
                          [&](const auto& known) { return descr == known.second; });
  if (row == std::end(npy::kDescr)) npy::fail(path, "has the unsupported element type " + descr);

  HostTensor tensor(row->first, npy::parse_shape(path, npy::value_of(path, header, "shape")));
  in.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(tensor.data.size()));
  if (!in) npy::fail(path, "is shorter than its shape says");
  return tensor;
}

/// Writes `tensor` as a version 1.0 .npy file. Throws std::runtime_error for types that the format lacks.
inline void write_npy(const std::string& path, const HostTensor& tensor) {
  auto row = std::find_if(std::begin(npy::kDescr), std::end(npy::kDescr),
                          [&](const auto& known) { return tensor.elem == known.first; });
  if (row == std::end(npy::kDescr)) npy::fail(path, std::string("no .npy type for ") + elem_name(tensor.elem));
  std::string header = std::string("{'descr': '") + row->second + "', 'fortran_order': False, 'shape': (";
  for (std::int64_t dim : tensor.dims) header += std::to_string(dim) + ",";
  header += "), }";
  constexpr std::size_t kPreamble = 10;
  header.append(63 - (kPreamble + header.size()) % 64, ' ');
  header += '\n';
  auto length = static_cast<std::uint16_t>(header.size());

  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header;
  out.write(reinterpret_cast<const char*>(tensor.data.data()), static_cast<std::streamsize>(tensor.data.size()));
  out.close();
  if (!out) npy::fail(path, "cannot be written");
}

}  // namespace bench
