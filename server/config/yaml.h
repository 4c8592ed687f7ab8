#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Typed reading of YAML files. Every error is a one-line api::Error (bad_input) that names the place:
//   FILE:LINE: field 'models.bert.delay_us': expected a whole number from 0 to 1000, got '-1'
namespace frazil::server {

/// Largest size of a configuration file, in bytes.
inline constexpr std::size_t kMaxConfigBytes = 1U << 20U;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A value in a YAML file and its position. A cheap copy that shares the document.
class YamlNode {
 public:
  struct Place;
  using Entries = std::vector<std::pair<std::string, YamlNode>>;
  /// The key of a map and the reader of its value.
  using Field = std::pair<std::string_view, std::function<void(const YamlNode&)>>;

  explicit YamlNode(std::shared_ptr<const Place> place) : place_(std::move(place)) {}

  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;
  bool is_null() const;  ///< nothing after "key:", or ~, or null

  // Typed access to a scalar. A value of another type or outside of the inclusive bounds is an error.
  std::string text() const;  ///< any scalar as written, without quotes; not null
  std::string name() const;  ///< a text that is not empty
  bool boolean() const;      ///< true or false
  std::uint64_t whole(std::uint64_t least, std::uint64_t most) const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;  ///< accepts .inf but not NaN
  std::uint64_t bytes() const;                     ///< 1048576, 1024KiB, 1MiB

  /// Returns the items of a list, with paths such as "list[0]".
  std::vector<YamlNode> items() const;

  /// Returns the entries of a map, in order. Keys are distinct.
  Entries entries() const;
  /// Returns the value of a key, or nullopt if the map does not contain it.
  std::optional<YamlNode> find(std::string_view key) const;
  /// As find(), but a missing key is an error.
  YamlNode at(std::string_view key) const;
  /// Reads the fields of this map, in the file's order. An unknown key is an error.
  void fields(std::initializer_list<Field> known) const;

  std::string path() const;  ///< "models.bert.preferred[0]"; empty for the whole file
  std::size_t line() const;  ///< from 1
  /// Throws "FILE:LINE: field 'PATH': message".
  [[noreturn]] void fail(const std::string& message) const;
  /// Throws "FILE:LINE: field 'PATH': expected WHAT, got ..." with the value or its kind.
  [[noreturn]] void expected(const std::string& what) const;

 private:
  std::shared_ptr<const Place> place_;
};

/// A placeholder in YamlNode::fields() for a field that is read elsewhere.
inline constexpr auto kReadElsewhere = [](const YamlNode&) {};

/// Reads the single document of a file or text: maps with distinct scalar keys, lists, scalars, and aliases of earlier
/// values. The text is UTF-8 with at most kMaxConfigBytes, 64 levels and 100,000 values, counting aliases each time.
/// Unsupported: tags, merge keys, control characters, tabs at the beginning of a line. A file without a document is
/// null. `name` is the file's name in errors.
YamlNode read_yaml(const std::string& path);
YamlNode read_yaml_text(std::string_view text, const std::string& name);

// Shared with readers of other formats.

/// Reads the text of a file of at most kMaxConfigBytes.
std::string read_config_file(const std::string& path);
/// Quotes a text for a message on one line, truncated if long.
std::string shown(std::string_view text);
bool is_utf8(std::string_view text);
/// Parses the whole text as a number; returns nullopt for another text or a value out of range. A double is never NaN.
std::optional<std::uint64_t> whole_from(std::string_view text);
std::optional<double> number_from(std::string_view text);
/// Parses a number of bytes: 1048576, 1024KiB, 1MiB, with the units B, KiB, MiB, GiB and TiB.
std::optional<std::uint64_t> bytes_from(std::string_view text);

}  // namespace frazil::server
