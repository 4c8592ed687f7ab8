#include "server/host/feast_key.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include <protozero/pbf_reader.hpp>

#include "server/core/raw_bytes.h"

namespace frazil::server {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

enum ValueType : std::uint32_t { kString = 2, kInt32 = 3, kInt64 = 4 };

void append_sized(std::string& to, std::uint32_t type, std::string_view bytes) {
  append_raw(to, type);
  append_raw(to, static_cast<std::uint32_t>(bytes.size()));
  to += bytes;
}

template <class T>
std::string_view raw_view(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

void append_id(std::string& to, const FeastId& id) {
  if (const auto* const text = std::get_if<std::string>(&id)) append_sized(to, kString, *text);
  if (const auto* const number = std::get_if<std::int32_t>(&id)) append_sized(to, kInt32, raw_view(*number));
  if (const auto* const number = std::get_if<std::int64_t>(&id)) append_sized(to, kInt64, raw_view(*number));
}

std::uint32_t padded_word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
  return word;
}

std::uint32_t scrambled(std::uint32_t word) { return std::rotl(word * 0xcc9e2d51U, 15) * 0x1b873593U; }

/// protozero only asserts that a field has the wire type of its getter; external bytes may have another one.
void expect_wire_type(const pbf_reader& reader, pbf_wire_type wanted) {
  if (!reader.has_wire_type(wanted)) throw std::invalid_argument("a value that is damaged");
}

std::string read_text(pbf_reader& reader) {
  expect_wire_type(reader, pbf_wire_type::length_delimited);
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

template <class T>
constexpr pbf_wire_type wire_type_of() {
  if constexpr (std::is_integral_v<T>) return pbf_wire_type::varint;
  return sizeof(T) == sizeof(double) ? pbf_wire_type::fixed64 : pbf_wire_type::fixed32;
}

template <class T>
T read_number(pbf_reader& reader, T (pbf_reader::*get)()) {
  expect_wire_type(reader, wire_type_of<T>());
  return (reader.*get)();
}

/// Reads the items of a list, which are in field 1, packed or not.
template <class To, class T, class Packed>
std::vector<To> items_of(pbf_reader list, T (pbf_reader::*one)(), Packed packed) {
  std::vector<To> items;
  while (list.next()) {
    if (list.tag() != 1) {
      list.skip();
    } else if (list.has_wire_type(pbf_wire_type::length_delimited)) {
      const auto range = (list.*packed)();
      for (auto at = range.begin(); at != range.end(); ++at) items.push_back(static_cast<To>(*at));
    } else {
      items.push_back(static_cast<To>(read_number(list, one)));
    }
  }
  return items;
}

std::vector<std::string> texts_of(pbf_reader list) {
  std::vector<std::string> items;
  while (list.next()) list.tag() == 1 ? items.push_back(read_text(list)) : list.skip();
  return items;
}

FeastValue list_of(std::uint32_t tag, const pbf_reader& list) {
  using Reader = pbf_reader;
  switch (tag) {
    case 11:
    case 12: return texts_of(list);
    case 13: return items_of<std::int64_t>(list, &Reader::get_int32, &Reader::get_packed_int32);
    case 15: return items_of<double>(list, &Reader::get_double, &Reader::get_packed_double);
    case 16: return items_of<double>(list, &Reader::get_float, &Reader::get_packed_float);
    case 17: return items_of<std::int64_t>(list, &Reader::get_bool, &Reader::get_packed_bool);
    default: return items_of<std::int64_t>(list, &Reader::get_int64, &Reader::get_packed_int64);
  }
}

FeastValue read_feast_value(pbf_reader& reader) {
  using Reader = pbf_reader;
  switch (const auto tag = reader.tag()) {
    case 1:
    case 2: return read_text(reader);
    case 3: return std::int64_t{read_number(reader, &Reader::get_int32)};
    case 4:
    case 8: return read_number(reader, &Reader::get_int64);
    case 5: return read_number(reader, &Reader::get_double);
    case 6: return double{read_number(reader, &Reader::get_float)};
    case 7: return std::int64_t{read_number(reader, &Reader::get_bool)};
    case 19: reader.skip(); return std::monostate();
    default:
      if (tag < 11 || tag > 18) throw std::invalid_argument("a value of a kind that is not read here");
      expect_wire_type(reader, pbf_wire_type::length_delimited);
      return list_of(tag, reader.get_message());
  }
}

template <class F>
auto read_message(std::string_view bytes, F f) try {
  return f(pbf_reader(protozero::data_view(bytes.data(), bytes.size())));
} catch (const protozero::exception&) {
  throw std::invalid_argument("a value that is damaged");
}

}  // namespace

std::uint32_t murmur3(std::string_view bytes) {
  std::uint32_t hash = 0;
  const std::size_t whole = bytes.size() / 4 * 4;
  for (std::size_t at = 0; at < whole; at += 4) {
    hash = std::rotl(hash ^ scrambled(padded_word_at(bytes, at)), 13) * 5 + 0xe6546b64U;
  }
  if (whole < bytes.size()) hash ^= scrambled(padded_word_at(bytes, whole));
  hash ^= static_cast<std::uint32_t>(bytes.size());
  hash = (hash ^ (hash >> 16U)) * 0x85ebca6bU;
  hash = (hash ^ (hash >> 13U)) * 0xc2b2ae35U;
  return hash ^ (hash >> 16U);
}

std::string feast_key(FeastEntity entity, std::string_view project) {
  std::ranges::sort(entity, {}, &FeastEntity::value_type::first);
  std::string key;
  append_raw(key, static_cast<std::uint32_t>(entity.size()));
  for (const auto& [name, id] : entity) append_sized(key, kString, name);
  for (const auto& [name, id] : entity) append_id(key, id);
  return key += project;
}

std::string feast_field(std::string_view view, std::string_view feature) {
  std::string field;
  append_raw(field, murmur3(std::string(view) + ':' + std::string(feature)));
  return field;
}

std::string feast_time_field(std::string_view view) { return "_ts:" + std::string(view); }

FeastValue feast_value(std::string_view bytes) {
  return read_message(bytes, [](pbf_reader reader) {
    FeastValue value;
    while (reader.next()) value = read_feast_value(reader);
    return value;
  });
}

double feast_time(std::string_view bytes) {
  return read_message(bytes, [](pbf_reader reader) {
    std::int64_t seconds = 0, nanoseconds = 0;
    while (reader.next()) {
      const bool known = (reader.tag() == 1 || reader.tag() == 2) && reader.has_wire_type(pbf_wire_type::varint);
      if (!known) {
        reader.skip();
      } else {
        (reader.tag() == 1 ? seconds : nanoseconds) = reader.get_int64();
      }
    }
    return static_cast<double>(seconds) + static_cast<double>(nanoseconds) * 1e-9;
  });
}

}  // namespace frazil::server
