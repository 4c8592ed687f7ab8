#include "govern/audit/history.h"

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

constexpr std::uint64_t kMaxHistoryBytes = std::uint64_t{16} << 30;

std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

}  // namespace

std::string format_history(const SignedCheckpoint& checkpoint) {
  std::string line = fmt::format("{} {}", checkpoint.checkpoint.size, base64(checkpoint.checkpoint.root));
  for (const NoteSignature& signature : checkpoint.note.signatures) {
    std::string bytes;
    append_big_endian(bytes, signature.key_id);
    bytes += signature.signature;
    line += fmt::format(" {} {}", signature.name, base64(bytes_of(bytes)));
  }
  return line + "\n";
}

SignedCheckpoint parse_history(std::string_view line, const std::string& origin, std::string_view what) {
  const auto size = parse_decimal(take_word(line));
  const auto root = parse_digest(take_word(line));
  if (!size || !root) fail(Code::bad_input, "{}: expected a size and a root", what);
  SignedCheckpoint result{.note = {}, .checkpoint = {origin, *size, *root}};
  std::string lines;
  while (!line.empty()) {
    const std::string_view name = take_word(line);
    lines += fmt::format("\u2014 {} {}\n", name, take_word(line));
  }
  result.note = {result.checkpoint.text(), parse_signatures(lines, what)};
  return result;
}

std::vector<SignedCheckpoint> read_history(const std::string& folder) {
  const std::string path = folder + "/history";
  if (!std::filesystem::exists(path)) return {};
  const std::string text = read_file(path, kMaxHistoryBytes);
  const std::string note = read_file(folder + "/checkpoint", kMaxNoteBytes);
  const std::string origin = SignedCheckpoint::parse(note, "the log's checkpoint").checkpoint.origin;
  std::vector<SignedCheckpoint> checkpoints;
  std::string_view rest = text;
  while (const auto line = take_line(rest)) {
    checkpoints.push_back(
        parse_history(*line, origin, fmt::format("file '{}', line {}", path, checkpoints.size() + 1)));
  }
  return checkpoints;
}

void append_history(const std::string& folder, const SignedCheckpoint& checkpoint) {
  const std::string path = folder + "/history", line = format_history(checkpoint);
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const off_t before = file ? ::lseek(file.get(), 0, SEEK_END) : -1;
  const bool written = before >= 0 && ::write(file.get(), line.data(), line.size()) == ssize_t(line.size()) &&
                       ::fdatasync(file.get()) == 0;
  if (written) return;
  const int reason = errno;
  if (before >= 0) (void)!::ftruncate(file.get(), before);
  fail(Code::bad_input, "file '{}': {}", path, std::generic_category().message(reason));
}

}  // namespace frazil::govern
