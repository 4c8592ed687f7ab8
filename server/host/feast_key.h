#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// The format of Feast's online store in Redis: a hash per entity, with one field per feature.
namespace frazil::server {

/// The 32-bit x86 variant of MurmurHash3 with seed 0.
std::uint32_t murmur3(std::string_view bytes);

/// The value of one join key of an entity, such as a driver's number.
using FeastId = std::variant<std::int32_t, std::int64_t, std::string>;
using FeastEntity = std::vector<std::pair<std::string, FeastId>>;

/// Returns the key of an entity's hash in version 3 of Feast's serialisation. The order of the parts does not matter.
std::string feast_key(FeastEntity entity, std::string_view project);
/// Returns the field of the hash that stores a feature.
std::string feast_field(std::string_view view, std::string_view feature);
/// Returns the field of the hash that stores the timestamp of a view's values.
std::string feast_time_field(std::string_view view);

/// The value of a feature. Integers of all widths, booleans and times are int64. std::monostate: null or not set.
using FeastValue = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                std::vector<double>, std::vector<std::string>>;

/// Reads a feast.types.Value. Throws std::invalid_argument for damaged bytes, for a map and for unknown value types.
FeastValue feast_value(std::string_view bytes);
/// Returns the seconds since 1970 of a google.protobuf.Timestamp. Throws std::invalid_argument for damaged bytes.
double feast_time(std::string_view bytes);

}  // namespace frazil::server
