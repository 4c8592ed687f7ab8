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

// Typed reading of YAML files. Every error is an api::Error of Code::bad_input on one line that names the place:
//   FILE:LINE: field 'models.bert.delay_us': expected a whole number from 0 to 1000, got '-1'
namespace frazil::server {

/// Largest file of a configuration, in bytes.
inline constexpr std::size_t kMostConfigBytes = 1U << 20U;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A value of a YAML file, with its place in it. A cheap copy; what it refers to lives as long as any of them.
class YamlNode {
 public:
  struct Place;
  using Entries = std::vector<std::pair<std::string, YamlNode>>;
  /// A field that a map may have, and what reads it.
  using Field = std::pair<std::string_view, std::function<void(const YamlNode&)>>;

  explicit YamlNode(std::shared_ptr<const Place> place) : place_(std::move(place)) {}

  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;
  bool is_null() const;  ///< nothing behind "key:", or ~, or null

  // A scalar as one type. A value of another one is an error, as is a number outside of the bounds, which are valid.
  std::string text() const;  ///< any scalar as it was written, without quotes; null is none
  std::string name() const;  ///< a text that is not empty
  bool boolean() const;      ///< true or false
  std::uint64_t whole(std::uint64_t least, std::uint64_t most) const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;  ///< .inf is a number, NaN is none
  std::uint64_t bytes() const;                     ///< 1048576, 1024KiB, 1MiB

  /// The items of a list, each with the path "list[0]".
  std::vector<YamlNode> items() const;

  /// The entries of a map, in their order. Keys are distinct.
  Entries entries() const;
  /// The value of a key; nothing where this map does not have it.
  std::optional<YamlNode> find(std::string_view key) const;
  /// The same; a missing key is an error.
  YamlNode at(std::string_view key) const;
  /// Reads the fields that this map has, in the file's order. A key that is not in the list is an error.
  void fields(std::initializer_list<Field> known) const;

  std::string path() const;  ///< "models.bert.preferred[0]"; empty for the whole file
  std::size_t line() const;  ///< from 1
  /// Throws "FILE:LINE: field 'PATH': message".
  [[noreturn]] void fail(const std::string& message) const;
  /// Throws "FILE:LINE: field 'PATH': expected WHAT, got ..." with the value, or what kind of value it is.
  [[noreturn]] void expected(const std::string& what) const;

 private:
  std::shared_ptr<const Place> place_;
};

/// A reader for YamlNode::fields() of a field that is read elsewhere.
inline constexpr auto kReadElsewhere = [](const YamlNode&) {};

/// Reads the only document of a file or text: maps with distinct scalar keys, lists, scalars, and aliases of values
/// before them. UTF-8, of at most kMostConfigBytes, 64 levels and 100,000 values, where those behind an alias count
/// each time. Not taken: tags, merge keys, control characters, tabs at the beginning of a line. A file without a
/// document is null. `name` stands for the file in errors.
YamlNode read_yaml(const std::string& path);
YamlNode read_yaml_text(std::string_view text, const std::string& name);

// What readers of other formats share.

/// The text of a file of at most kMostConfigBytes.
std::string read_config_file(const std::string& path);
/// A text for a message: quoted, on one line, cut where it is long.
std::string shown(std::string_view text);
bool is_utf8(std::string_view text);
/// The whole text as a number; nothing for another text or one out of range. A double is not NaN.
std::optional<std::uint64_t> whole_from(std::string_view text);
std::optional<double> number_from(std::string_view text);
/// A number of bytes: 1048576, 1024KiB, 1MiB, with the units B, KiB, MiB, GiB and TiB.
std::optional<std::uint64_t> bytes_from(std::string_view text);

}  // namespace frazil::server
