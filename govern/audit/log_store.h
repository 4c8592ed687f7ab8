#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "govern/audit/note.h"
#include "govern/audit/payloads.h"
#include "govern/audit/tiles.h"
#include "govern/audit/tree.h"
#include "govern/base/file.h"

// The files of a log that is written: the journal, tiles, bundles and the checkpoint.
namespace frazil::govern {

/// The growing tiles of a log: the last, incomplete tile of each level. Completed ones are handed out as files.
class TileFront {
 public:
  struct OutFile {
    std::string path;  ///< below the log's folder
    std::string bytes;
  };

  TileFront() = default;
  /// Restores the front of a log of `size` entries from its files. Throws Code::bad_input.
  TileFront(const std::string& folder, std::uint64_t size);
  /// Adds an entry. Appends the files that it completes.
  void append(std::string_view entry, std::vector<OutFile>& completed);
  /// Returns the incomplete tiles and the incomplete bundle.
  std::vector<OutFile> partial() const;
  std::uint64_t size() const { return edge_.size(); }
  Digest root() const { return edge_.root(); }

 private:
  void append_hash(unsigned level, const Digest& hash, std::vector<OutFile>& completed);

  TreeEdge edge_;
  std::string bundle_;
  std::vector<std::vector<Digest>> levels_;
};

/// The state of a log when it was opened.
struct Recovery {
  bool created = false;        ///< the folder had no log
  bool closed = true;          ///< its last entry is a `shutdown`, or it has none
  std::uint64_t torn = 0;      ///< bytes of incomplete entries that were removed
  std::uint64_t replayed = 0;  ///< entries after the last checkpoint
  std::string text;            ///< one line; empty if nothing was repaired
  std::string last_time;       ///< `at` of the last entry; empty if there is none
};

/// Writes one log. Not thread-safe, apart from what is noted.
///
/// Entries go to the journal first, which is synced. From there they go to bundles and tiles, which are synced when the
/// journal has grown: then a new journal begins. After a crash, everything since then is written again.
class LogStore {
 public:
  /// Opens or creates a log, and locks it. Throws Code::bad_input if another process has it open, if the key is not
  /// that of its checkpoint, and if its files contradict the checkpoint: then nothing is changed.
  LogStore(std::string folder, std::string origin, const SigningKey& key);

  const Recovery& recovery() const { return recovery_; }
  const std::string& folder() const { return folder_; }
  std::uint64_t size() const { return front_.size(); }
  /// Returns the last checkpoint that was signed.
  const SignedCheckpoint& checkpoint() const { return checkpoint_; }

  /// Makes entries durable, after the payloads that they name. Throws Code::bad_input if they could not be written;
  /// then none was added, and the call may be repeated.
  void commit(std::span<const std::string> entries, std::span<const std::string> payloads = {});
  /// Makes later payloads go to another file, so that the present ones can be pruned.
  void begin_payload_file() { payloads_.begin_file(); }
  /// Writes the tiles of all entries, then a signed checkpoint. Throws Code::bad_input; the call may be repeated.
  void sign_checkpoint();
  /// Writes the checkpoint again, with further signatures. Throws Code::bad_input.
  void write_checkpoint(const Note& note);
  /// Syncs all files and begins a new journal. Throws Code::bad_input; the call may be repeated.
  void sync();

 private:
  void lock();
  void create();
  void recover();
  void replay(std::string_view journal);
  void write_journal(const std::string& text);
  void write_pending();
  void remove_partial(std::uint64_t from, std::uint64_t to);

  std::string folder_, origin_;
  SigningKey key_;
  PayloadWriter payloads_;
  File lock_, journal_;
  std::string journal_text_;     ///< the bytes of the journal
  bool journal_broken_ = false;  ///< a write failed: the file is written again as a whole
  std::uint64_t journal_start_ = 0;
  TileFront front_;
  std::vector<TileFront::OutFile> pending_;  ///< files to be written before the next checkpoint
  SignedCheckpoint checkpoint_;
  Recovery recovery_;
};

}  // namespace frazil::govern
