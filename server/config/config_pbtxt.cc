#include "server/config/config_pbtxt.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>

#include <frazil/error.h>

#include "server/config/text_proto.h"
#include "server/config/yaml.h"

namespace frazil::server {
namespace {

using std::chrono::microseconds;

/// Type names of Triton without "TYPE_", by number.
constexpr std::string_view kTypeNames[] = {"INVALID", "BOOL",  "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16",
                                           "INT32",   "INT64", "FP16",  "FP32",   "FP64",   "STRING", "BF16"};

struct PbtxtFile {
  std::string name;
  std::vector<std::string>& warnings;
  std::set<std::string> warned;
};

struct Row;

/// A field of the file that is being read.
class PbtxtItem {
 public:
  PbtxtItem(PbtxtFile& file, std::string path, const TextField& field)
      : file_(&file), path_(std::move(path)), field_(&field) {}

  const TextField& field() const { return *field_; }
  const std::string& path() const { return path_; }
  std::string text() const;
  std::string name() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  std::uint64_t whole(std::uint64_t least, std::uint64_t most) const {
    return static_cast<std::uint64_t>(integer(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)));
  }
  microseconds time() const { return microseconds(whole(0, kMaxMicroseconds)); }
  std::string datatype() const;

  /// Reads the known fields of this message and warns about others.
  void fields(std::initializer_list<Row> known) const;
  /// Accepts any message.
  void any_message() const {
    if (field_->kind != TextField::Kind::message) expected("a message");
  }

  /// Warns once per field of the file.
  void warn(const std::string& message) const {
    if (file_->warned.insert(path_).second) file_->warnings.push_back(place() + message);
  }
  void ignore(const std::string& instead) const { warn(" is ignored: " + instead); }
  [[noreturn]] void fail(const std::string& message) const {
    throw api::Error(api::Code::bad_input, place() + ": " + message);
  }
  [[noreturn]] void expected(const std::string& what) const { fail("expected " + what + ", got " + got()); }

 private:
  std::string place() const { return file_->name + ":" + std::to_string(field_->line) + ": field " + shown(path_); }
  std::string got() const;
  void one_field(const TextField& field, std::initializer_list<Row> known, std::set<std::string_view>& seen) const;

  PbtxtFile* file_;
  std::string path_;
  const TextField* field_;
};

struct Row {
  std::string_view name;
  std::function<void(const PbtxtItem&)> read;
  bool repeated = false;
};

Row many(std::string_view name, std::function<void(const PbtxtItem&)> read) { return {name, std::move(read), true}; }
Row ignored(std::string_view name, std::string instead) {
  return many(name, [instead = std::move(instead)](const PbtxtItem& item) { item.ignore(instead); });
}
Row accepted(std::string_view name) {
  return many(name, [](const PbtxtItem&) {});
}
Row ignored_if_true(std::string_view name, std::string instead) {
  return {name, [instead = std::move(instead)](const PbtxtItem& item) {
            if (item.boolean()) item.ignore(instead);
          }};
}

std::string PbtxtItem::got() const {
  switch (field_->kind) {
    case TextField::Kind::message: return "a message";
    case TextField::Kind::none: return "an empty list";
    case TextField::Kind::string: return "the text " + shown(field_->text);
    default: return shown(field_->text);
  }
}

std::string PbtxtItem::text() const {
  if (field_->kind != TextField::Kind::string) expected("a text in quotes");
  if (!is_utf8(field_->text)) expected("a text in UTF-8");
  return field_->text;
}

std::string PbtxtItem::name() const {
  const std::string name = text();
  if (name.empty() || name.find('\0') != std::string::npos) expected("a name");
  return name;
}

bool PbtxtItem::boolean() const {
  const std::string_view text = field_->kind == TextField::Kind::string ? "" : std::string_view(field_->text);
  for (const std::string_view word : {"true", "True", "t", "1"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"false", "False", "f", "0"}) {
    if (text == word) return false;
  }
  expected("true or false");
}

/// Parses an integer in C notation.
std::optional<std::int64_t> integer_from(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  } else if (text.size() > 1 && text.starts_with('0')) {
    base = 8;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

std::int64_t PbtxtItem::integer(std::int64_t least, std::int64_t most) const {
  const auto value = field_->kind == TextField::Kind::number ? integer_from(field_->text) : std::nullopt;
  if (value && *value >= least && *value <= most) return *value;
  const std::string range = most == std::numeric_limits<std::int64_t>::max() ? "" : " to " + std::to_string(most);
  expected("a whole number from " + std::to_string(least) + range);
}

std::string PbtxtItem::datatype() const {
  std::string_view text = field_->kind == TextField::Kind::word ? std::string_view(field_->text) : "";
  if (field_->kind == TextField::Kind::number) {
    text = kTypeNames[whole(1, std::size(kTypeNames) - 1)];
  } else {
    if (!text.starts_with("TYPE_")) expected("a type such as TYPE_FP32");
    text.remove_prefix(5);
    if (text == kTypeNames[0] || std::ranges::find(kTypeNames, text) == std::end(kTypeNames))
      expected("a type such as TYPE_FP32");
  }
  return text == "STRING" ? "BYTES" : std::string(text);
}

void PbtxtItem::one_field(const TextField& field, std::initializer_list<Row> known,
                          std::set<std::string_view>& seen) const {
  const PbtxtItem item(*file_, path_.empty() ? field.name : path_ + "." + field.name, field);
  const auto row = std::ranges::find(known, field.name, &Row::name);
  if (row == known.end()) return item.ignore("it is unknown");
  const bool first = seen.insert(row->name).second;
  if (!row->repeated && !first) item.fail("expected it once, got it again");
  if (!row->repeated && field.kind == TextField::Kind::none) item.expected("a value");
  if (field.kind != TextField::Kind::none) row->read(item);
}

void PbtxtItem::fields(std::initializer_list<Row> known) const {
  any_message();
  std::set<std::string_view> seen;
  for (const TextField& field : field_->message.fields) one_field(field, known, seen);
}

/// Settings that several fields determine together, with their fields for error messages.
struct Draft {
  ReadConfig& read;
  bool dynamic = false;
  std::vector<std::pair<PbtxtItem, std::uint64_t>> preferred = {};
  std::optional<PbtxtItem> default_level = {}, pad = {}, lengths = {}, max_waste = {};
  std::set<std::string> parameters = {};
  std::set<std::pair<bool, std::string>> names = {};  ///< of ports, true for outputs
};

void read_platform(const PbtxtItem& item) {
  const std::string text = item.text();
  if (text == "ensemble") item.expected("\"onnxruntime_onnx\"; an ensemble can be written as a pipeline");
  if (!text.empty() && text != "onnxruntime_onnx") item.expected("\"onnxruntime_onnx\"");
}

void read_backend(const PbtxtItem& item) {
  const std::string text = item.text();
  if (!text.empty() && text != "onnxruntime" && text != "frazil") item.expected("\"onnxruntime\" or \"frazil\"");
}

void read_file_name(const PbtxtItem& item) {
  const std::string text = item.text();
  if (!text.empty() && text != "model.onnx") item.ignore("a version's file is model.onnx or model.frzc");
}

/// Reads the label file of an output, which must be in the folder of the configuration.
std::string label_file(const PbtxtItem& item) {
  std::string file = item.name();
  const bool leaves = file.starts_with('/') || file == ".." || file.starts_with("../") || file.ends_with("/..") ||
                      file.find("/../") != std::string::npos;
  if (leaves) item.expected("a file in the folder of the configuration");
  return file;
}

std::vector<std::int64_t> batched(const Draft& draft, std::vector<std::int64_t> shape) {
  if (draft.read.config.max_in_request > 0) shape.insert(shape.begin(), -1);
  return shape;
}

std::int64_t extent(const PbtxtItem& item) {
  const std::int64_t value = item.integer(-1, std::numeric_limits<std::int64_t>::max());
  if (value == 0) item.expected("an extent of at least 1, or -1");
  return value;
}

void read_port(const PbtxtItem& item, bool is_output, Draft& draft) {
  DeclaredPort port{.name = {}, .datatype = {}, .shape = {}, .line = item.field().line};
  std::optional<std::vector<std::int64_t>> reshaped;
  std::string labels;
  const auto read_reshape = [&](const PbtxtItem& reshape) {
    reshaped.emplace();
    reshape.fields({many("shape", [&](const PbtxtItem& x) { reshaped->push_back(extent(x)); })});
    reshape.ignore("requests and responses have the shape of the model");
  };
  const auto read_dims = [&](const PbtxtItem& dim) { port.shape.push_back(extent(dim)); };
  const auto read_labels = [&](const PbtxtItem& file) {
    if (!is_output) return file.ignore("it is unknown");
    if (!file.text().empty()) labels = label_file(file);
  };
  item.fields({{"name", [&](const PbtxtItem& name) { port.name = name.name(); }},
               {"data_type", [&](const PbtxtItem& type) { port.datatype = type.datatype(); }},
               many("dims", read_dims),
               {"reshape", read_reshape},
               {"label_filename", read_labels},
               accepted("format"),
               ignored_if_true("is_shape_tensor", "it is for TensorRT"),
               ignored_if_true("is_non_linear_format_io", "it is for TensorRT"),
               ignored_if_true("allow_ragged_batch", "the parameter \"frazil.pad\" joins requests of unequal shapes"),
               ignored_if_true("optional", "an input may be left out where the model has a default for it")});
  if (port.name.empty()) item.fail("expected a field 'name', which is missing");
  port.has_shape = reshaped || !port.shape.empty();
  if (reshaped) port.shape = std::move(*reshaped);
  std::vector<DeclaredPort>& ports = is_output ? draft.read.config.outputs : draft.read.config.inputs;
  if (!draft.names.emplace(is_output, port.name).second) {
    item.fail("expected distinct names, got " + shown(port.name) + " twice");
  }
  if (!labels.empty()) draft.read.config.labels.emplace_back(port.name, labels);
  ports.push_back(std::move(port));
}

void read_version_policy(const PbtxtItem& item, VersionPolicy& policy) {
  std::size_t choices = 0;
  const auto choose = [&](VersionPolicy::Kind kind) {
    policy.kind = kind;
    if (++choices > 1) item.fail("expected one of latest, all and specific, got several");
  };
  const auto read_latest = [&](const PbtxtItem& latest) {
    choose(VersionPolicy::Kind::latest);
    latest.fields({{"num_versions", [&](const PbtxtItem& x) { policy.latest = x.whole(1, kMaxCount); }}});
  };
  const auto read_all = [&](const PbtxtItem& all) {
    choose(VersionPolicy::Kind::all);
    all.fields({});
  };
  const auto read_specific = [&](const PbtxtItem& specific) {
    choose(VersionPolicy::Kind::specific);
    specific.fields({many("versions", [&](const PbtxtItem& x) {
      policy.specific.push_back(x.whole(1, std::numeric_limits<std::int64_t>::max()));
    })});
    if (policy.specific.empty()) specific.fail("expected a field 'versions', which is missing");
  };
  item.fields({{"latest", read_latest}, {"all", read_all}, {"specific", read_specific}});
}

void read_queue_policy(const PbtxtItem& item, Batching& batching) {
  const auto read_action = [](const PbtxtItem& action) {
    const std::string& text = action.field().text;
    if (text == "DELAY" || text == "1") return action.ignore("a request whose time is over is refused");
    if (text != "REJECT" && text != "0") action.expected("REJECT or DELAY");
  };
  const auto read_time_out = [&](const PbtxtItem& time) {
    if (time.time() > microseconds(0)) batching.time_out = time.time();
  };
  const auto read_override = [](const PbtxtItem& allow) {
    if (!allow.boolean()) allow.ignore("a request may have a time-out of its own");
  };
  item.fields({{"timeout_action", read_action},
               {"default_timeout_microseconds", read_time_out},
               {"allow_timeout_override", read_override},
               {"max_queue_size", [&](const PbtxtItem& x) { batching.max_queued = x.whole(0, kMaxCount); }}});
}

void read_dynamic_batching(const PbtxtItem& item, Draft& draft) {
  Batching& batching = draft.read.config.batching;
  draft.dynamic = true;
  const auto read_default = [&](const PbtxtItem& level) {
    batching.default_level = std::max<std::uint64_t>(level.whole(0, kMaxLevels), 1);
    draft.default_level = level;
  };
  const auto read_levels = [&](const PbtxtItem& levels) {
    batching.levels = std::max<std::uint64_t>(levels.whole(0, kMaxLevels), 1);
  };
  item.fields({many("preferred_batch_size",
                    [&](const PbtxtItem& x) { draft.preferred.emplace_back(x, x.whole(1, kMaxCount)); }),
               {"max_queue_delay_microseconds", [&](const PbtxtItem& x) { batching.delay = x.time(); }},
               {"priority_levels", read_levels},
               {"default_priority_level", read_default},
               {"default_queue_policy", [&](const PbtxtItem& x) { read_queue_policy(x, batching); }},
               ignored_if_true("preserve_ordering", "a response leaves when it is there"),
               ignored("priority_queue_policy", "default_queue_policy holds for all levels")});
}

void read_sequence_state(const PbtxtItem& item, Sequences& sequences) {
  StateLink link;
  const auto read_initial = [](const PbtxtItem& initial) {
    const auto not_zeros = [&](const PbtxtItem&) {
      initial.ignore("a state starts with zeros, or with the input's default");
    };
    initial.fields(
        {{"data_file", not_zeros}, accepted("name"), accepted("data_type"), accepted("dims"), accepted("zero_data")});
  };
  item.fields({{"input_name", [&](const PbtxtItem& x) { link.input = x.name(); }},
               {"output_name", [&](const PbtxtItem& x) { link.output = x.name(); }},
               many("initial_state", read_initial),
               accepted("data_type"),
               accepted("dims"),
               accepted("use_same_buffer_for_input_output"),
               accepted("use_growable_memory")});
  if (link.input.empty() || link.output.empty()) item.fail("expected the fields 'input_name' and 'output_name'");
  if (std::ranges::find(sequences.states, link.input, &StateLink::input) != sequences.states.end()) {
    item.fail("expected distinct inputs, got " + shown(link.input) + " twice");
  }
  sequences.states.push_back(std::move(link));
}

void read_sequence_batching(const PbtxtItem& item, Sequences& sequences) {
  const auto read_idle = [&](const PbtxtItem& time) {
    if (time.time() > microseconds(0)) sequences.idle = time.time();
  };
  const auto read_strategy = [](const PbtxtItem& strategy) { strategy.any_message(); };
  item.fields({{"max_sequence_idle_microseconds", read_idle},
               {"direct", read_strategy},
               {"oldest", read_strategy},
               many("state", [&](const PbtxtItem& x) { read_sequence_state(x, sequences); }),
               ignored("control_input", "no input is set by the server; clients have to send it"),
               ignored_if_true("iterative_sequence", "a request runs the model once"),
               ignored_if_true("generative_sequence", "a request runs the model once")});
  if (sequences.states.empty()) item.warn(" has no effect: it has no 'state' that is kept between requests");
}

void read_warm_up(const PbtxtItem& item, ModelConfig& config) {
  std::uint64_t count = 1;
  const auto read_value = [](const PbtxtItem& value) {
    const auto not_zeros = [&](const PbtxtItem&) { value.ignore("a model is warmed up on zeros"); };
    value.fields({{"zero_data", [](const PbtxtItem& x) { x.boolean(); }},
                  {"random_data", not_zeros},
                  {"input_data_file", not_zeros},
                  accepted("data_type"),
                  accepted("dims")});
  };
  item.fields({accepted("name"),
               accepted("batch_size"),
               many("inputs", [&](const PbtxtItem& x) { x.fields({accepted("key"), {"value", read_value}}); }),
               {"count", [&](const PbtxtItem& x) { count = std::max<std::uint64_t>(x.whole(0, kMaxCount), 1); }}});
  config.warm_up += count;
}

/// Reads a number from a parameter, which is a text.
double parameter_number(const PbtxtItem& item, double least, double most, const char* what) {
  const auto value = number_from(item.text());
  if (!value || *value < least || *value > most) item.expected(what);
  return *value;
}

/// Parses INPUT:AXIS:VALUE. Names may contain colons, so the axis and the value are split off at the end.
Padding padding_from(const PbtxtItem& item, std::string_view text) {
  constexpr const char* kForm = "INPUT:AXIS:VALUE with an axis from 0 to 63";
  const std::size_t last = text.rfind(':');
  const std::size_t middle = last == std::string_view::npos || last == 0 ? last : text.rfind(':', last - 1);
  if (last == std::string_view::npos || middle == std::string_view::npos || middle == 0 || middle == last) {
    item.expected(kForm);
  }
  const auto axis = whole_from(text.substr(middle + 1, last - middle - 1));
  const auto value = number_from(text.substr(last + 1));
  if (!axis || *axis > kMaxAxis || !value) item.expected(kForm);
  return {.input = std::string(text.substr(0, middle)), .axis = *axis, .value = *value};
}

std::vector<Padding> paddings_from(const PbtxtItem& item) {
  std::vector<Padding> paddings;
  std::set<std::pair<std::string, std::size_t>> axes;
  const std::string all = item.text();
  for (std::string_view rest = all; !rest.empty();) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    Padding next = padding_from(item, rest.substr(0, end));
    if (!axes.emplace(next.input, next.axis).second)
      item.fail("expected distinct axes, got axis " + std::to_string(next.axis) + " of " + shown(next.input) +
                " twice");
    paddings.push_back(std::move(next));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (paddings.empty()) item.expected("INPUT:AXIS:VALUE");
  return paddings;
}

void read_model_parameter(const std::string& key, const PbtxtItem& value, Draft& draft) {
  ModelConfig& config = draft.read.config;
  if (key == "frazil.deadline_ms") {
    config.deadline_ms = parameter_number(value, 0.001, kMaxMilliseconds, "milliseconds from 0.001 to 1e9");
  } else if (key == "frazil.memory_limit") {
    config.memory_limit = bytes_from(value.text());
    if (config.memory_limit.value_or(0) == 0) value.expected("a number of bytes such as 1048576 or 512MiB");
  } else if (key == "frazil.pad") {
    config.batching.paddings = paddings_from(value);
    draft.pad = value;
  } else if (key == "frazil.lengths") {
    config.batching.lengths = value.name();
    draft.lengths = value;
  } else if (key == "frazil.max_waste") {
    config.batching.max_waste = parameter_number(value, 0, 1, "a share from 0 to 1");
    draft.max_waste = value;
  } else if (key == "frazil.canary_rtol") {
    config.canary.relative = parameter_number(value, 0, 1e9, "a number from 0 to 1e9");
  } else if (key == "frazil.canary_atol") {
    config.canary.absolute = parameter_number(value, 0, 1e300, "a number from 0 to 1e300");
  } else if (key == "frazil.defaults") {
    const auto defaults = defaults_from(value.text());
    if (!defaults) value.expected("\"fixed\" or \"inputs\"");
    config.defaults = *defaults;
  } else if (key.starts_with("frazil.")) {
    value.fail(
        "this parameter is unknown; expected frazil.deadline_ms, frazil.memory_limit, frazil.pad, "
        "frazil.lengths, frazil.max_waste, frazil.canary_rtol, frazil.canary_atol or frazil.defaults");
  } else {
    value.ignore("it is not a parameter of Frazil");
  }
}

void read_model_parameters(const PbtxtItem& item, PbtxtFile& file, Draft& draft) {
  std::string key;
  std::optional<PbtxtItem> message;
  item.fields(
      {{"key", [&](const PbtxtItem& x) { key = x.text(); }}, {"value", [&](const PbtxtItem& x) { message = x; }}});
  if (!message) item.fail("expected the fields 'key' and 'value'");
  std::optional<PbtxtItem> text;
  message->fields({{"string_value", [&](const PbtxtItem& x) { text = x; }}});
  if (!draft.parameters.insert(key).second) item.fail("expected distinct keys, got " + shown(key) + " twice");
  const std::string path = "parameters." + key;
  read_model_parameter(key, PbtxtItem(file, path, text ? text->field() : message->field()), draft);
}

void read_top(const PbtxtItem& top, PbtxtFile& file, Draft& draft) {
  ModelConfig& config = draft.read.config;
  const std::string generic = "it has no meaning here";
  top.fields({
      {"name", [&](const PbtxtItem& x) { draft.read.name = x.text(); }},
      {"platform", read_platform},
      {"backend", read_backend},
      {"max_batch_size", [&](const PbtxtItem& x) { config.max_in_request = x.whole(0, kMaxCount); }},
      {"version_policy", [&](const PbtxtItem& x) { read_version_policy(x, config.versions); }},
      many("input", [&](const PbtxtItem& x) { read_port(x, false, draft); }),
      many("output", [&](const PbtxtItem& x) { read_port(x, true, draft); }),
      {"dynamic_batching", [&](const PbtxtItem& x) { read_dynamic_batching(x, draft); }},
      {"sequence_batching", [&](const PbtxtItem& x) { read_sequence_batching(x, config.sequences); }},
      many("model_warmup", [&](const PbtxtItem& x) { read_warm_up(x, config); }),
      many("parameters", [&](const PbtxtItem& x) { read_model_parameters(x, file, draft); }),
      {"default_model_filename", read_file_name},
      {"model_transaction_policy",
       [](const PbtxtItem& x) {
         x.fields({ignored_if_true("decoupled", "a model has one response; a pipeline with 'emit' has several")});
       }},
      {"response_cache", [](const PbtxtItem& x) { x.fields({ignored_if_true("enable", "responses are not kept")}); }},
      ignored("instance_group", "all models share the threads of --workers"),
      ignored("optimization", "a model is optimized when it is loaded"),
      ignored("ensemble_scheduling", "its steps can be written as a pipeline"),
      ignored("batch_input", "the parameter \"frazil.lengths\" gives a model the lengths of padded requests"),
      ignored("batch_output", "the parameter \"frazil.pad\" cuts results back to each request's length"),
      ignored("metric_tags", "metrics have the model's name and version"),
      ignored("model_metrics", "the metrics of all models are the same"),
      ignored("model_operations", "no libraries of operators are loaded"),
      ignored("cc_model_filenames", "it is for GPUs"),
      ignored("model_repository_agents", "models are read from the folder as they are"),
      ignored("runtime", generic),
  });
}

/// Checks and completes settings that depend on several fields, which may have any order in the file.
void finish(Draft& draft) {
  ReadConfig& read = draft.read;
  Batching& batching = read.config.batching;
  const std::uint64_t most = read.config.max_in_request;
  batching.most = draft.dynamic ? most : 0;
  for (const auto& [item, size] : draft.preferred) {
    if (size > most) item.expected("at most max_batch_size, " + std::to_string(most));
    batching.preferred.push_back(size);
  }
  std::ranges::sort(batching.preferred);
  const auto same = std::ranges::unique(batching.preferred);
  batching.preferred.erase(same.begin(), same.end());
  if (batching.default_level > batching.levels) {
    draft.default_level->expected("at most priority_levels, " + std::to_string(batching.levels));
  }
  if (draft.lengths && !draft.pad) draft.lengths->fail("requires the parameter frazil.pad");
  for (const auto& item : {draft.pad, draft.lengths, draft.max_waste}) {
    if (item && batching.most == 0) item->warn(" has no effect without dynamic_batching and max_batch_size");
  }
  for (auto* ports : {&read.config.inputs, &read.config.outputs}) {
    for (DeclaredPort& port : *ports) {
      if (port.has_shape) port.shape = batched(draft, std::move(port.shape));
    }
  }
}

}  // namespace

ReadConfig read_config_pbtxt_text(std::string_view text, const std::string& path) {
  ReadConfig read;
  read.config.versions.kind = VersionPolicy::Kind::latest;
  TextField top;
  top.kind = TextField::Kind::message;
  top.message = read_text_proto(text, path);
  PbtxtFile file{.name = path, .warnings = read.warnings, .warned = {}};
  Draft draft{.read = read};
  read_top(PbtxtItem(file, "", top), file, draft);
  finish(draft);
  return read;
}

ReadConfig read_config_pbtxt(const std::string& path) { return read_config_pbtxt_text(read_config_file(path), path); }

}  // namespace frazil::server
