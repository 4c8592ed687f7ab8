#include "govern/audit/log_store.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "govern/audit/event.h"
#include "govern/audit/journal.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kJournalBytes = std::size_t{16} << 20;  ///< after which files are synced

[[noreturn]] void fail_on_file(const std::string& path) {
  fail(Code::bad_input, "file '{}': {}", path, std::generic_category().message(errno));
}

/// Writes a file under its name at once, without syncing it.
void put_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".new";
  File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file && errno == ENOENT) {
    make_folder(fs::path(path).parent_path());
    file = File(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  }
  if (!file) fail_on_file(temporary);
  if (!write_bytes(file, bytes)) fail_on_file(temporary);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail_on_file(path);
}

std::string bytes_of_hashes(const std::vector<Digest>& hashes) {
  std::string bytes;
  for (const Digest& hash : hashes) bytes += text_of(hash);
  return bytes;
}

}  // namespace

TileFront::TileFront(const std::string& folder, std::uint64_t size) {
  TileReader reader(folder, size);
  edge_ = TreeEdge(size, reader.subtrees());
  for (unsigned level = 0; size >> (8 * level) > 0; ++level) {
    const std::uint64_t hashes = size >> (8 * level);
    levels_.push_back(hashes % kTileWidth == 0 ? std::vector<Digest>() : reader.hashes(level, hashes / kTileWidth));
  }
  const auto width = static_cast<unsigned>(size % kTileWidth);
  if (width == 0) return;
  const std::string path =
      folder + "/" + TileName{.kind = TileKind::entries, .index = size / kTileWidth, .width = width}.path();
  bundle_ = read_file(path, kMaxTileBytes);
  const auto entries = parse_bundle(bundle_, width, fmt::format("file '{}'", path));
  for (unsigned i = 0; i < width; ++i) {
    if (leaf_hash(entries[i]) != levels_[0][i]) fail(Code::bad_input, "file '{}': entry {} was changed", path, i);
  }
}

void TileFront::append(std::string_view entry, std::vector<OutFile>& completed) {
  const std::uint64_t bundle = size() / kTileWidth;
  const Digest leaf = leaf_hash(entry);
  edge_.append(leaf);
  append_entry(bundle_, entry);
  if (size() % kTileWidth == 0) {
    completed.push_back({TileName{.kind = TileKind::entries, .index = bundle}.path(), std::move(bundle_)});
    bundle_.clear();
  }
  append_hash(0, leaf, completed);
}

void TileFront::append_hash(unsigned level, const Digest& hash, std::vector<OutFile>& completed) {
  if (level == levels_.size()) levels_.emplace_back();
  levels_[level].push_back(hash);
  if (levels_[level].size() < kTileWidth) return;
  const std::uint64_t index = (size() >> (8 * (level + 1))) - 1;
  completed.push_back({TileName{.level = level, .index = index}.path(), bytes_of_hashes(levels_[level])});
  const Digest root = complete_root(levels_[level]);
  levels_[level].clear();
  append_hash(level + 1, root, completed);
}

std::vector<TileFront::OutFile> TileFront::partial() const {
  std::vector<OutFile> files;
  if (!bundle_.empty()) {
    const TileName name{
        .kind = TileKind::entries, .index = size() / kTileWidth, .width = static_cast<unsigned>(size() % kTileWidth)};
    files.push_back({name.path(), bundle_});
  }
  for (unsigned level = 0; level < levels_.size(); ++level) {
    if (levels_[level].empty()) continue;
    const TileName name{
        .level = level, .index = size() >> (8 * (level + 1)), .width = static_cast<unsigned>(levels_[level].size())};
    files.push_back({name.path(), bytes_of_hashes(levels_[level])});
  }
  return files;
}

LogStore::LogStore(std::string folder, std::string origin, const SigningKey& key)
    : folder_(std::move(folder)), origin_(std::move(origin)), key_(key), payloads_(folder_) {
  if (!is_key_name(origin_)) fail(Code::bad_input, "origin '{}': expected a name without spaces and '+'", origin_);
  make_folder(folder_);
  lock();
  const bool has_checkpoint = fs::exists(folder_ + "/checkpoint");
  if (!has_checkpoint && (fs::exists(folder_ + "/tile") || fs::exists(folder_ + "/history"))) {
    fail(Code::bad_input, "log '{}': its checkpoint is missing", folder_);
  }
  if (has_checkpoint) {
    recover();
  } else {
    create();
  }
}

void LogStore::lock() {
  const std::string path = folder_ + "/lock";
  lock_ = File(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_) fail_on_file(path);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    fail(Code::bad_input, "log '{}': another process or object has it open", folder_);
  }
}

void LogStore::create() {
  recovery_.created = true;
  write_journal(journal_header(0));
  sign_checkpoint();
}

void LogStore::recover() {
  const std::string path = folder_ + "/checkpoint";
  checkpoint_ = SignedCheckpoint::parse(read_file(path, kMaxNoteBytes), fmt::format("file '{}'", path));
  const VerifierKey own{origin_, SignatureType::ed25519, key_.public_key()};
  if (checkpoint_.checkpoint.origin != origin_ || verify_signature(checkpoint_.note, own) != SignatureState::valid) {
    fail(Code::bad_input, "file '{}': expected a checkpoint of '{}' signed by the given key", path, origin_);
  }
  cut_history(folder_);
  replay(read_file(folder_ + "/journal", kMaxJournalBytes));
}

void LogStore::replay(std::string_view bytes) {
  const std::string path = folder_ + "/journal";
  const Journal journal = parse_journal(bytes, fmt::format("file '{}'", path));
  const Checkpoint& signed_head = checkpoint_.checkpoint;
  const std::uint64_t end = journal.start + journal.entries.size();
  if (journal.start > signed_head.size || end < signed_head.size) {
    fail(Code::bad_input, "log '{}': its checkpoint has {} entries, its journal those from {} to {}", folder_,
         signed_head.size, journal.start, end);
  }
  front_ = TileFront(folder_, journal.start);
  Digest root = front_.root();
  for (const std::string_view entry : journal.entries) {
    front_.append(entry, pending_);
    if (front_.size() == signed_head.size) root = front_.root();
  }
  if (root != signed_head.root) {
    fail(Code::bad_input, "log '{}': the entries are not those of its checkpoint of size {}", folder_,
         signed_head.size);
  }
  journal_start_ = journal.start;
  recovery_.torn = bytes.size() - journal.bytes;
  recovery_.replayed = end - signed_head.size;
  std::string last;
  if (!journal.entries.empty()) {
    last = journal.entries.back();
  } else if (end > 0) {
    last = TileReader(folder_, end).entry(end - 1).value_or("");
  }
  if (!last.empty()) {
    const Json event = parse_json(last, fmt::format("log '{}', entry {}", folder_, end - 1));
    recovery_.closed = text_member(event, "kind", "the last entry") == "shutdown";
    recovery_.last_time = text_member(event, "at", "the last entry");
  }
  if (!recovery_.closed || recovery_.torn > 0) {
    recovery_.text =
        fmt::format("the log was not closed in order: {} entries follow its checkpoint, {} bytes were removed",
                    recovery_.replayed, recovery_.torn);
  }
  write_journal(std::string(bytes.substr(0, journal.bytes)));
  write_pending();
}

void LogStore::write_journal(const std::string& text) {
  const std::string path = folder_ + "/journal";
  journal_broken_ = true;  // unless the lines below succeed
  write_file(path, text);
  journal_ = File(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!journal_) fail_on_file(path);
  journal_text_ = text;
  journal_broken_ = false;
}

void LogStore::commit(std::span<const std::string> entries, std::span<const std::string> payloads) {
  std::string records;
  for (const std::string& entry : entries) append_record(records, entry);
  if (journal_broken_) write_journal(std::string(journal_text_));
  payloads_.write(front_.size(), payloads);
  if (!write_bytes(journal_, records) || ::fdatasync(journal_.get()) != 0) {
    const int reason = errno;
    journal_broken_ = true;
    payloads_.undo();
    errno = reason;
    fail_on_file(folder_ + "/journal");
  }
  journal_text_ += records;
  for (const std::string& entry : entries) front_.append(entry, pending_);
}

void LogStore::write_pending() {
  for (const auto& file : pending_) put_file(folder_ + "/" + file.path, file.bytes);
  pending_.clear();
}

void LogStore::sign_checkpoint() {
  write_pending();
  for (const auto& file : front_.partial()) put_file(folder_ + "/" + file.path, file.bytes);
  const Checkpoint next{origin_, front_.size(), front_.root()};
  Note note{next.text(), {sign_note(next.text(), origin_, key_)}};
  write_file(folder_ + "/checkpoint", format_note(note));
  checkpoint_ = {std::move(note), next};
  if (journal_text_.size() > kJournalBytes) sync();
}

void LogStore::write_checkpoint(const Note& note) {
  write_file(folder_ + "/checkpoint", format_note(note));
  checkpoint_.note = note;
}

void LogStore::sync() {
  const std::uint64_t size = checkpoint_.checkpoint.size;
  if (size != front_.size() || size == journal_start_) return;
  // One call for hundreds of small files; each fsync would flush the device's cache.
  if (::syncfs(lock_.get()) != 0) fail_on_file(folder_);
  write_journal(journal_header(size));
  remove_partial(std::exchange(journal_start_, size), size);
}

void LogStore::remove_partial(std::uint64_t from, std::uint64_t to) {
  std::error_code ignored;
  for (unsigned level = 0; to >> (8 * level) > 0; ++level) {
    const std::uint64_t first = from >> (8 * (level + 1)), last = to >> (8 * (level + 1));
    for (std::uint64_t index = first; index < last; ++index) {
      fs::remove_all(fmt::format("{}/{}.p", folder_, TileName{.level = level, .index = index}.path()), ignored);
      if (level > 0) continue;
      const TileName bundle{.kind = TileKind::entries, .index = index};
      fs::remove_all(fmt::format("{}/{}.p", folder_, bundle.path()), ignored);
    }
  }
}

}  // namespace frazil::govern
