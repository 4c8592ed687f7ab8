#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Feast's online store as it lies in Redis: a hash for each entity, in which a feature is a field.
namespace frazil::server {

/// MurmurHash3, the form for x86 with 32 bits, seed 0.
std::uint32_t murmur3(std::string_view bytes);

/// A part of what an entity is known by, such as a driver's number.
using FeastId = std::variant<std::int32_t, std::int64_t, std::string>;
using FeastEntity = std::vector<std::pair<std::string, FeastId>>;

/// The key of an entity's hash, in version 3 of Feast's serialisation. The order of the parts does not matter.
std::string feast_key(FeastEntity entity, std::string_view project);
/// The hash's field that a feature lies in.
std::string feast_field(std::string_view view, std::string_view feature);
/// The hash's field that has the time of a view's values.
std::string feast_time_field(std::string_view view);

/// A feature's value. Whole numbers of all widths, truth values and times are int64; none: it is null or not set.
using FeastValue = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                std::vector<double>, std::vector<std::string>>;

/// Reads a feast.types.Value. Throws std::invalid_argument for damaged bytes, and for a map or what is newer.
FeastValue feast_value(std::string_view bytes);
/// Seconds since 1970 of a google.protobuf.Timestamp. Throws std::invalid_argument for damaged bytes.
double feast_time(std::string_view bytes);

}  // namespace frazil::server
