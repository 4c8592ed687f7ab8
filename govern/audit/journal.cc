#include "govern/audit/journal.h"

#include <cerrno>
#include <filesystem>

#include <unistd.h>

#include "govern/audit/note.h"
#include "govern/audit/tree.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kJournalName = "frazil-journal ";
constexpr std::size_t kCheckBytes = 8;

std::string check_of(std::string_view entry) {
  const Digest leaf = leaf_hash(entry);
  return std::string(text_of(leaf).substr(0, kCheckBytes));
}

}  // namespace

std::string journal_header(std::uint64_t start) { return fmt::format("{}{}\n", kJournalName, start); }

void append_record(std::string& journal, std::string_view entry) {
  append_big_endian(journal, static_cast<std::uint16_t>(entry.size()));
  (journal += entry) += check_of(entry);
}

Journal parse_journal(std::string_view text, std::string_view what) {
  const std::size_t whole = text.size();
  const auto header = take_line(text);
  const auto start =
      header && header->starts_with(kJournalName) ? parse_decimal(header->substr(kJournalName.size())) : std::nullopt;
  if (!start) fail(Code::bad_input, "{}: expected '{}' and a number first", what, kJournalName);
  Journal journal{.start = *start, .entries = {}, .bytes = whole - text.size()};
  while (text.size() >= 2) {
    const std::size_t size =
        static_cast<std::size_t>(static_cast<unsigned char>(text[0])) << 8 | static_cast<unsigned char>(text[1]);
    if (text.size() < 2 + size + kCheckBytes) break;
    const std::string_view entry = text.substr(2, size);
    if (check_of(entry) != text.substr(2 + size, kCheckBytes)) break;
    journal.entries.push_back(entry);
    text.remove_prefix(2 + size + kCheckBytes);
    journal.bytes = whole - text.size();
  }
  return journal;
}

void cut_history(const std::string& folder) {
  const std::string path = folder + "/history";
  if (!std::filesystem::exists(path)) return;
  const std::string text = read_file(path, std::uint64_t{16} << 30);
  const std::size_t end = text.rfind('\n') + 1;
  if (end != text.size()) std::filesystem::resize_file(path, end);
}

bool write_bytes(const File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace frazil::govern
