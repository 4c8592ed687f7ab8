#include "kernel/tuning/tuning_file.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>

#include <sys/stat.h>
#include <unistd.h>

#include "base/os/io.h"
#include "base/os/log.h"
#include "base/os/user_folder.h"
#include "base/value/hash.h"

namespace frazil::kernel {
namespace {

constexpr std::string_view kVersion = "frazil tuning 1";
constexpr std::size_t kMaxBytes = std::size_t{1} << 16;

std::uint64_t sum_of(std::string_view text) { return Hasher().add(text).value(); }

/// Returns the value of the first line "name : value" of /proc/cpuinfo that has one of the names.
std::string cpu_line(std::span<const std::string_view> names) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t last = line.substr(0, colon).find_last_not_of(" \t");
    if (colon == std::string::npos || last == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (std::ranges::find(names, std::string_view(line).substr(0, last + 1)) == names.end()) continue;
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string cpu_name() {
  constexpr std::string_view kNames[] = {"model name"}, kMaker[] = {"CPU implementer"}, kPart[] = {"CPU part"};
  std::string name = cpu_line(kNames);
  if (name.empty()) name = cpu_line(kMaker) + " " + cpu_line(kPart);
  return name;
}

std::string key_text(const TuningKey& key) {
  return fmt::format("cpu {}\nisa {}{}\n", key.cpu, name_of(key.isa), key.byte_dot ? " dot" : "");
}

/// Removes the next line from `text` and returns it without its newline.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// Returns the text without its last line, which must hold the check sum of the rest.
Result<std::string_view> checked(std::string_view text) {
  const std::size_t at = text.rfind("sum ");
  if (at == std::string_view::npos || !text.ends_with('\n') || (at > 0 && text[at - 1] != '\n')) {
    return fail(Code::bad_input, "it is cut off");
  }
  if (text.substr(at) != fmt::format("sum {:016x}\n", sum_of(text.substr(0, at)))) {
    return fail(Code::bad_input, "it is damaged");
  }
  return text.substr(0, at);
}

Result<double> constant(std::string_view line, std::string_view name) {
  double value = 0;
  const std::string_view digits = line.starts_with(name) ? line.substr(name.size()) : std::string_view();
  if (!digits.starts_with(' ')) return fail(Code::bad_input, "expected {}, got '{}'", name, line);
  const auto [end, error] = std::from_chars(digits.data() + 1, digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      !(value >= kMinConstant && value <= kMaxConstant)) {
    return fail(Code::bad_input, "{} is not in {}..{}", name, kMinConstant, kMaxConstant);
  }
  return value;
}

Result<Tuning> read_tuning(const std::string& path, const TuningKey& key) {
  auto text = read_file(path, kMaxBytes);
  if (!text) return std::unexpected(std::move(text).error());
  auto parsed = parse_tuning(*text, key);
  if (!parsed) return within(path + ": ", std::move(parsed).error());
  return parsed;
}

/// Reads the user's own file. Fails if it belongs to another user.
Result<Tuning> read_own(const std::string& path, const TuningKey& key) {
  struct stat state = {};
  if (stat(path.c_str(), &state) == 0 && state.st_uid != geteuid()) {
    return fail(Code::bad_input, "{}: it belongs to another user", path);
  }
  return read_tuning(path, key);
}

}  // namespace

TuningKey tuning_key() { return {cpu_name(), features().isa, features().byte_dot}; }

std::string tuning_text(const Tuning& tuning, const TuningKey& key) {
  std::string text = fmt::format("{}\n{}", kVersion, key_text(key));
  for (const TuningConstant& c : tuning_constants()) text += fmt::format("{} {}\n", c.name, tuning.*c.value);
  return text + fmt::format("sum {:016x}\n", sum_of(text));
}

Result<Tuning> parse_tuning(std::string_view text, const TuningKey& key) {
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first != kVersion) return fail(Code::bad_input, "it is not a table of this version ('{}')", kVersion);
  FRAZIL_TRY(std::string_view rest, checked(text));
  next_line(rest);
  const std::string own = key_text(key);
  if (!rest.starts_with(own)) {
    const std::string_view cpu = next_line(rest);
    return fail(Code::bad_input, "it is for '{}', '{}'; this is {}", cpu, next_line(rest),
                own.substr(0, own.size() - 1));
  }
  rest.remove_prefix(own.size());
  Tuning tuning{};
  for (const TuningConstant& c : tuning_constants()) {
    FRAZIL_TRY(tuning.*c.value, constant(next_line(rest), c.name));
  }
  if (!rest.empty()) return fail(Code::bad_input, "'{}' is not a constant of a table", next_line(rest));
  return tuning;
}

std::string tuning_path(const TuningKey& key) {
  const std::filesystem::path folder = user_cache_folder();
  if (folder.empty()) return {};
  return folder / fmt::format("tuning-{:016x}", sum_of(fmt::format("{}\n{}", kVersion, key_text(key))));
}

Status save_tuning(const std::string& path, const Tuning& tuning, const TuningKey& key) {
  const std::filesystem::path folder = user_cache_folder();
  const std::string text = tuning_text(tuning, key);
  const mode_t before = umask(077);
  std::error_code error;
  if (path == tuning_path(key)) std::filesystem::create_directories(folder, error);
  Status written = error ? fail(Code::bad_input, "{}: {}", folder.string(), error.message())
                         : write_file(path, std::as_bytes(std::span(text)));
  umask(before);
  return written;
}

Status use_tuning(std::string_view knob) {
  if (knob == "off") return {};
  const TuningKey key = tuning_key();
  const std::string path = knob.empty() ? tuning_path(key) : std::string(knob);
  if (path.empty() || (knob.empty() && access(path.c_str(), F_OK) != 0)) return {};
  auto read = knob.empty() ? read_own(path, key) : read_tuning(path, key);
  if (read) {
    install_tuning(key.isa, *read);
  } else if (knob.empty()) {
    logging::warn("tuning", fmt::format("{}; the table is not used: frazil tune makes a new one", read.error().text()));
  } else {
    return within("FRAZIL_TUNING: ", std::move(read).error());
  }
  return {};
}

}  // namespace frazil::kernel
