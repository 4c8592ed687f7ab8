#include "server/config/yaml.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <deque>
#include <fstream>
#include <ios>
#include <limits>
#include <ranges>
#include <set>
#include <sstream>
#include <system_error>
#include <type_traits>

#include <frazil/error.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace frazil::server {
namespace {

constexpr std::size_t kMaxYamlDepth = 64;
constexpr std::size_t kMaxValues = 100'000;
constexpr std::size_t kMaxShown = 60;

struct Value {
  enum class Kind : std::uint8_t { null, plain, quoted, list, map };
  Kind kind = Kind::null;
  bool whole = false;  ///< read to its end
  std::size_t line = 1;
  std::size_t count = 1, depth = 1;  ///< including everything below it
  std::string text;
  std::vector<std::pair<std::string, const Value*>> entries;  ///< keys are empty for a list
};

struct YamlFile {
  std::string name;
  std::deque<Value> values;
};

[[noreturn]] void bad(const std::string& message) { throw api::Error(api::Code::bad_input, message); }

std::string in_line(const std::string& file, std::size_t line) { return file + ":" + std::to_string(line) + ": "; }

void append_step(std::string& path, const std::string& key) {
  if (!path.empty()) path += '.';
  path += key;
}

/// Builds the values of a document from the parser's events.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(YamlFile& file) : file_(file) {}
  const Value& root() { return root_ != nullptr ? *root_ : file_.values.emplace_back(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(line_of(mark), "expected one document, got another one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(make(Value::Kind::null, mark, "?", anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(Value::Kind::list, mark, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(Value::Kind::map, mark, tag, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Value* value;
    std::optional<std::string> key;  ///< key of the next value
    std::set<std::string, std::less<>> keys;
  };

  static std::size_t line_of(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.line, 0)) + 1; }
  bool wants_key() const { return !open_.empty() && open_.back().value->kind == Value::Kind::map && !open_.back().key; }
  std::string path() const;
  [[noreturn]] void fail(std::size_t line, const std::string& message) const;
  Value& make(Value::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor);
  void take_key(const Value& value);
  void finish(Value& value);
  void put(const Value& value, std::size_t line);
  void open(Value& value);
  void close();

  YamlFile& file_;
  std::vector<Open> open_;
  std::vector<const Value*> anchors_;
  const Value* root_ = nullptr;
  std::size_t documents_ = 0;
};

std::string Builder::path() const {
  std::string path;
  for (const Open& open : open_) {
    if (open.key) append_step(path, *open.key);
    if (open.value->kind == Value::Kind::list) path += "[" + std::to_string(open.value->entries.size()) + "]";
  }
  return path;
}

void Builder::fail(std::size_t line, const std::string& message) const {
  const std::string at = path();
  bad(in_line(file_.name, line) + (at.empty() ? "" : "field " + shown(at) + ": ") + message);
}

Value& Builder::make(Value::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
  if (tag != "?" && tag != "!" && !tag.empty()) {
    fail(line_of(mark), "expected a value without a tag, got the tag " + shown(tag));
  }
  Value& value = file_.values.emplace_back();
  value.kind = kind;
  value.line = line_of(mark);
  if (anchor != 0) {
    anchors_.resize(std::max(anchors_.size(), anchor + 1));
    anchors_[anchor] = &value;
  }
  return value;
}

void Builder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text) {
  Value& value = make(tag == "!" ? Value::Kind::quoted : Value::Kind::plain, mark, tag, anchor);
  value.text = text;
  finish(value);
}

void Builder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const Value* value = anchor < anchors_.size() ? anchors_[anchor] : nullptr;
  if (value == nullptr || !value->whole) fail(line_of(mark), "expected an alias of a value before it");
  put(*value, line_of(mark));
}

void Builder::take_key(const Value& value) {
  Open& map = open_.back();
  if (value.kind != Value::Kind::plain && value.kind != Value::Kind::quoted)
    fail(value.line, "expected a text as a key");
  if (value.kind == Value::Kind::plain && value.text == "<<") fail(value.line, "merge keys are not supported");
  if (!map.keys.insert(value.text).second) {
    fail(value.line, "expected distinct keys, got " + shown(value.text) + " twice");
  }
  map.key = value.text;
}

void Builder::finish(Value& value) {
  value.whole = true;
  put(value, value.line);
}

void Builder::put(const Value& value, std::size_t line) {
  if (wants_key()) return take_key(value);
  if (open_.empty()) {
    root_ = &value;
    return;
  }
  Value& parent = *open_.back().value;
  parent.depth = std::max(parent.depth, value.depth + 1);
  parent.count += value.count;
  if (open_.size() + value.depth > kMaxYamlDepth) fail(line, "expected at most 64 levels");
  if (parent.count > kMaxValues) fail(line, "expected at most 100000 values, those behind aliases included");
  parent.entries.emplace_back(std::move(open_.back().key).value_or(""), &value);
  open_.back().key.reset();
}

void Builder::open(Value& value) {
  if (wants_key()) fail(value.line, "expected a text as a key");
  if (open_.size() >= kMaxYamlDepth) fail(value.line, "expected at most 64 levels");
  open_.push_back({.value = &value, .key = {}, .keys = {}});
}

void Builder::close() {
  Value& value = *open_.back().value;
  open_.pop_back();
  finish(value);
}

/// Escapes control characters as \xHH, and all non-ASCII bytes of a text that is not UTF-8.
std::string on_one_line(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool readable = is_utf8(text);
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !readable)) {
      ((line += "\\x") += kDigits[byte / 16]) += kDigits[byte % 16];
    } else {
      line += c;
    }
  }
  return line;
}

/// Refuses characters that the parser would ignore or misinterpret.
void check_line(std::string_view line, const std::string& place) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  if (line.substr(first).starts_with('\t')) bad(place + "expected spaces at the beginning of a line, got a tab");
  for (const char& c : line) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (control && c != '\r' && c != '\t') bad(place + "expected a text, got the control character " + shown({&c, 1}));
  }
  if (!is_utf8(line)) bad(place + "expected UTF-8");
}

void check_lines(std::string_view text, const std::string& name) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    check_line(text.substr(0, end), in_line(name, line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class T>
std::string range_text(T least, T most) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isinf(least) && std::isinf(most)) return "a number";
    if (std::isinf(most)) return "a number from " + number_text(least);
    return "a number from " + number_text(least) + " to " + number_text(most);
  } else {
    const std::string from = "a whole number from " + std::to_string(least);
    return most == std::numeric_limits<T>::max() ? from : from + " to " + std::to_string(most);
  }
}

}  // namespace

struct YamlNode::Place {
  std::shared_ptr<const YamlFile> file;
  std::shared_ptr<const Place> parent;  ///< null for the root
  const Value* value;
  std::string key;        ///< in a map
  std::size_t index = 0;  ///< in a list

  static YamlNode below(const std::shared_ptr<const Place>& parent, std::size_t index);
};

namespace {

const char* kind_text(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null: return "nothing";
    case Value::Kind::list: return "a list";
    case Value::Kind::map: return "a map";
    default: return "a text";
  }
}

bool is_text(const Value& value) { return value.kind == Value::Kind::plain || value.kind == Value::Kind::quoted; }

template <class T>
T bounded(const YamlNode& node, std::optional<T> value, T least, T most) {
  if (!value || *value < least || *value > most) node.expected(range_text(least, most));
  return *value;
}

/// Returns the text of an unquoted scalar; empty for another value.
std::string_view plain(const Value& value) {
  return value.kind == Value::Kind::plain ? std::string_view(value.text) : std::string_view();
}

}  // namespace

YamlNode YamlNode::Place::below(const std::shared_ptr<const Place>& parent, std::size_t index) {
  const auto& [key, value] = parent->value->entries[index];
  return YamlNode(std::make_shared<const Place>(
      Place{.file = parent->file, .parent = parent, .value = value, .key = key, .index = index}));
}

bool YamlNode::is_map() const { return place_->value->kind == Value::Kind::map; }
bool YamlNode::is_list() const { return place_->value->kind == Value::Kind::list; }
bool YamlNode::is_scalar() const { return is_text(*place_->value); }
bool YamlNode::is_null() const { return place_->value->kind == Value::Kind::null; }

std::string YamlNode::text() const {
  if (!is_scalar()) expected("a text");
  return place_->value->text;
}

std::string YamlNode::name() const {
  if (!is_scalar() || place_->value->text.empty()) expected("a text that is not empty");
  return place_->value->text;
}

bool YamlNode::boolean() const {
  const std::string_view text = plain(*place_->value);
  if (text != "true" && text != "false") expected("true or false");
  return text == "true";
}

std::uint64_t YamlNode::whole(std::uint64_t least, std::uint64_t most) const {
  return bounded(*this, whole_from(plain(*place_->value)), least, most);
}

std::int64_t YamlNode::integer(std::int64_t least, std::int64_t most) const {
  return bounded(*this, parsed<std::int64_t>(plain(*place_->value)), least, most);
}

double YamlNode::number(double least, double most) const {
  const std::string_view text = plain(*place_->value);
  std::optional<double> value = text == ".inf" ? kInfinity : text == "-.inf" ? -kInfinity : number_from(text);
  if (value && std::isinf(*value) && !text.ends_with(".inf")) value.reset();
  return bounded(*this, value, least, most);
}

std::uint64_t YamlNode::bytes() const {
  const auto value = bytes_from(plain(*place_->value));
  if (!value) expected("a number of bytes such as 1048576 or 512MiB");
  return *value;
}

std::vector<YamlNode> YamlNode::items() const {
  if (!is_list()) expected("a list");
  std::vector<YamlNode> items;
  items.reserve(place_->value->entries.size());
  for (std::size_t i = 0; i < place_->value->entries.size(); ++i) items.push_back(Place::below(place_, i));
  return items;
}

YamlNode::Entries YamlNode::entries() const {
  if (!is_map()) expected("a map");
  Entries entries;
  entries.reserve(place_->value->entries.size());
  for (std::size_t i = 0; i < place_->value->entries.size(); ++i) {
    entries.emplace_back(place_->value->entries[i].first, Place::below(place_, i));
  }
  return entries;
}

std::optional<YamlNode> YamlNode::find(std::string_view key) const {
  if (!is_map()) return std::nullopt;
  const auto& entries = place_->value->entries;
  const auto at = std::ranges::find(entries, key, &std::pair<std::string, const Value*>::first);
  if (at == entries.end()) return std::nullopt;
  return Place::below(place_, static_cast<std::size_t>(at - entries.begin()));
}

YamlNode YamlNode::at(std::string_view key) const {
  if (!is_map()) expected("a map");
  const auto node = find(key);
  if (!node) fail("expected the key " + shown(key) + ", which is missing");
  return *node;
}

void YamlNode::fields(std::initializer_list<Field> known) const {
  for (const auto& [key, node] : entries()) {
    const auto field = std::ranges::find(known, key, &Field::first);
    if (field != known.end()) {
      field->second(node);
      continue;
    }
    std::string keys;
    for (const Field& other : known) (keys += keys.empty() ? "" : ", ") += other.first;
    node.fail("this key is unknown; expected " + keys);
  }
}

std::string YamlNode::path() const {
  std::vector<const Place*> steps;
  for (const Place* at = place_.get(); at->parent != nullptr; at = at->parent.get()) steps.push_back(at);
  std::string path;
  for (const Place* step : std::views::reverse(steps)) {
    if (step->parent->value->kind == Value::Kind::list) {
      path += "[" + std::to_string(step->index) + "]";
    } else {
      append_step(path, step->key);
    }
  }
  return path;
}

std::size_t YamlNode::line() const { return place_->value->line; }

void YamlNode::fail(const std::string& message) const {
  const std::string at = path();
  bad(in_line(place_->file->name, line()) + (at.empty() ? "" : "field " + shown(at) + ": ") + message);
}

void YamlNode::expected(const std::string& what) const {
  const Value& value = *place_->value;
  fail("expected " + what + ", got " + (is_text(value) ? shown(value.text) : kind_text(value.kind)));
}

YamlNode read_yaml_text(std::string_view text, const std::string& name) {
  if (text.size() > kMaxConfigBytes)
    bad(name + ": expected at most 1 MiB, got " + std::to_string(text.size()) + " bytes");
  check_lines(text, name);
  const auto file = std::make_shared<YamlFile>();
  file->name = name;
  Builder builder(*file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const bool placed = !error.mark.is_null();
    bad((placed ? in_line(name, static_cast<std::size_t>(error.mark.line) + 1) : name + ": ") +
        "expected YAML, got a syntax error: " + on_one_line(error.msg));
  }
  return YamlNode(std::make_shared<const YamlNode::Place>(
      YamlNode::Place{.file = file, .parent = nullptr, .value = &builder.root(), .key = {}}));
}

YamlNode read_yaml(const std::string& path) { return read_yaml_text(read_config_file(path), path); }

std::string read_config_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) bad(path + ": " + std::generic_category().message(errno));
  std::string text(kMaxConfigBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) bad(path + ": cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxConfigBytes) bad(path + ": expected at most 1 MiB");
  return text;
}

std::string shown(std::string_view text) {
  const bool cut = text.size() > kMaxShown;
  if (cut) text = text.substr(0, kMaxShown);
  while (cut && !text.empty() && (static_cast<unsigned char>(text.back()) & 0x80U) != 0) text.remove_suffix(1);
  return "'" + on_one_line(text) + (cut ? "...'" : "'");
}

namespace {

/// Returns the length of the UTF-8 character that begins with `lead`; 0 for an invalid byte.
std::size_t length_of(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

}  // namespace

bool is_utf8(std::string_view text) {
  constexpr std::uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = length_of(lead);
    if (length == 0 || length > text.size() - at) return false;
    std::uint32_t code = length == 1 ? lead : lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      if ((byte & 0xc0U) != 0x80) return false;
      code = code << 6U | (byte & 0x3fU);
    }
    if (code < kMin[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    at += length;
  }
  return true;
}

std::optional<std::uint64_t> whole_from(std::string_view text) { return parsed<std::uint64_t>(text); }

std::optional<double> number_from(std::string_view text) {
  const auto value = parsed<double>(text);
  return value && std::isnan(*value) ? std::nullopt : value;
}

std::optional<std::uint64_t> bytes_from(std::string_view text) {
  constexpr std::pair<std::string_view, unsigned> kUnits[] = {
      {"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}};
  unsigned shift = 0;
  for (const auto& [unit, bits] : kUnits) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    shift = bits;
    break;
  }
  const auto number = whole_from(text);
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return *number << shift;
}

}  // namespace frazil::server
