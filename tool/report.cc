#include "tool/report.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <frazil/text.h>
#include <unistd.h>

#include "tool/fill.h"

namespace frazil::tool {
namespace {

bool g_output_failed = false;
int g_output_errno = 0;

struct Stats {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::int64_t count = 0, nan = 0;
};

Stats stats_of(const Array& tensor) {
  Stats s;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double v = tensor.number(i);
    if (std::isnan(v)) {
      ++s.nan;
      continue;
    }
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
    s.sum += v;
    ++s.count;
  }
  return s;
}

bool has_stats(const Array& t) { return t.dtype() != Dtype::string && !is_complex(t.dtype()) && t.count() > 0; }

/// Returns the first elements: "[[1, 2], [3, 4]]".
std::string elements_of(const Array& tensor) {
  return tensor.str().substr(type_text(tensor.dtype(), tensor.sizes()).size() + 1);
}

std::string tensor_summary(const Array& tensor) {
  std::string text;
  if (has_stats(tensor) && tensor.count() > 1) {
    const Stats s = stats_of(tensor);
    if (s.count > 0) {
      text = fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}  ", s.min, s.max, s.sum / static_cast<double>(s.count));
    }
    if (s.nan > 0) text += fmt::format("NaN {}  ", s.nan);
  }
  return text + elements_of(tensor);
}

}  // namespace

void print_error(const std::string& text) {
  if (std::fputs(text.c_str(), stderr) >= 0) std::fflush(stderr);
}

int exit_code(Code code) {
  switch (code) {
    case Code::bad_model:
    case Code::bad_input:
    case Code::unsupported: return kBadInput;
    case Code::limit:
    case Code::out_of_memory:
    case Code::cancelled:
    case Code::internal: return kStopped;
  }
  return kStopped;
}

int report(const Error& error) {
  const std::string line = error.code() == Code::internal ? "frazil: internal error: " : "frazil: ";
  print_error(line + one_line(error.what()) + '\n');
  return exit_code(error.code());
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return api::printable(line);
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void print_json(const Json& json) { print_line(json_text(json)); }

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    g_output_failed = true;
    g_output_errno = errno;
  }
}

void print_line(std::string_view line) {
  print_text(line);
  print_text("\n");
}

bool prints_to_terminal() { return isatty(STDOUT_FILENO) == 1; }

std::optional<Error> finish_output() {
  if (std::fflush(stdout) != 0) {
    g_output_failed = true;
    g_output_errno = errno;
  }
  if (!g_output_failed || g_output_errno == EPIPE) return std::nullopt;
  return Error(Code::limit, std::string("cannot write to standard output: ") + std::strerror(g_output_errno));
}

std::string type_of(const Array& value) {
  switch (value.kind()) {
    case Array::Kind::tensor: return type_text(value.dtype(), value.sizes());
    case Array::Kind::sequence: return fmt::format("seq({})", value.items().size());
    case Array::Kind::map: return fmt::format("map({})", value.entries().size());
    case Array::Kind::none: break;
  }
  return "none";
}

std::string summary_of(const Array& value) {
  if (value.is_tensor()) return one_line(tensor_summary(value));
  std::string text;
  constexpr std::size_t kShown = 4;
  if (value.kind() == Array::Kind::sequence) {
    const auto items = value.items();
    for (std::size_t i = 0; i < items.size() && i < kShown; ++i) text += (i > 0 ? ", " : "") + type_of(items[i]);
    if (items.size() > kShown) text += ", ...";
  } else if (value.kind() == Array::Kind::map) {
    const auto entries = value.entries();
    for (std::size_t i = 0; i < entries.size() && i < kShown; ++i) {
      const auto& [key, item] = entries[i];
      text += (i > 0 ? ", " : "") + elements_of(key) + ": " + summary_of(item);
    }
    if (entries.size() > kShown) text += ", ...";
  }
  return one_line(text);
}

Json json_of(std::string_view name, const Array& value) {
  Json json{{"name", name}, {"type", type_of(value)}};
  if (value.is_tensor()) {
    json["elem"] = name_of(value.dtype());
    json["shape"] = value.sizes();
    if (has_stats(value)) {
      const Stats s = stats_of(value);
      if (s.count > 0) {
        json["min"] = s.min;
        json["max"] = s.max;
        json["mean"] = s.sum / static_cast<double>(s.count);
      }
      if (s.nan > 0) json["nan"] = s.nan;
    }
  } else if (value.kind() == Array::Kind::sequence) {
    json["items"] = Json::array();
    for (const Array& item : value.items()) json["items"].push_back(json_of("", item));
  }
  return json;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::show(std::string_view text) {
  if (!terminal_) return;
  const double time = now();
  if (shown_ && time - last_ < 0.1) return;
  last_ = time;
  shown_ = true;
  print_error("\r\x1b[K" + one_line(text));
}

void Progress::clear() {
  if (!shown_) return;
  print_error("\r\x1b[K");
  shown_ = false;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace frazil::tool
