#include "govern/audit/verify.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "govern/audit/event.h"
#include "govern/audit/history.h"
#include "govern/audit/journal.h"
#include "govern/audit/tiles.h"
#include "govern/audit/tree.h"
#include "govern/audit/verify_meaning.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBlockBundles = 64;
constexpr std::size_t kMaxFindings = 1000;

/// Some consecutive bundles, verified against the tiles of leaf hashes.
struct Block {
  std::vector<Bundle> bundles;  ///< which the facts point into
  std::vector<EntryFacts> facts;
  std::vector<Digest> tile_roots;   ///< of complete tiles
  std::vector<Digest> last_leaves;  ///< of the incomplete tile, if it is among them
  std::map<std::uint64_t, std::uint64_t> missing;
  Findings findings;
};

class LogVerifier {
 public:
  LogVerifier(const std::string& folder, const VerifyOptions& options)
      : folder_(folder), options_(options), meaning_(folder, options, report_) {}

  VerifyReport run() {
    if (!fs::is_directory(folder_)) fail(Code::bad_input, "log '{}': there is no such folder", folder_);
    if (!read_head()) return std::move(report_);
    verify_entries();
    verify_tree();
    verify_history();
    for (const auto& [name, text] : options_.checkpoints) verify_older(name, text);
    verify_files();
    verify_journal();
    meaning_.finish();
    return std::move(report_);
  }

 private:
  template <class Check>
  void guarded(const char* check, Check function) {
    try {
      function();
    } catch (const Error& error) {
      report_.findings.add(check, std::nullopt, error.what());
    }
  }

  bool read_head();
  bool is_signed(const Note& note, const Checkpoint& checkpoint) const;
  void verify_entries();
  Block read_block(std::uint64_t first, std::uint64_t last) const;
  void verify_bundle(std::uint64_t bundle, Block& block) const;
  void add_block(Block block);
  void verify_tree();
  Digest computed(unsigned height, std::uint64_t index) const;
  void verify_history();
  bool has_unknown_key(const Note& note) const;
  void verify_quorum(const SignedCheckpoint& checkpoint);
  void verify_older(const std::string& name, const std::string& text);
  void verify_contains(const char* check, const std::string& name, const Checkpoint& old);
  void verify_files();
  void verify_file(const std::string& path);
  void verify_journal();

  const std::string folder_;
  const VerifyOptions& options_;
  VerifyReport report_;
  MeaningCheck meaning_;
  SignedCheckpoint head_;
  std::vector<std::vector<Digest>> rows_;  ///< [level]: hashes of the tiles at the level; [0] has the last tile's only
};

bool LogVerifier::is_signed(const Note& note, const Checkpoint& checkpoint) const {
  return std::ranges::any_of(options_.policy.logs(), [&](const VerifierKey& key) {
    return key.name == checkpoint.origin && verify_signature(note, key) == SignatureState::valid;
  });
}

bool LogVerifier::read_head() {
  const std::string path = folder_ + "/checkpoint";
  try {
    head_ = SignedCheckpoint::parse(read_file(path, kMaxNoteBytes), fmt::format("file '{}'", path));
  } catch (const Error& error) {
    report_.findings.add("checkpoint", std::nullopt, error.what());
    return false;
  }
  report_.origin = head_.checkpoint.origin;
  report_.size = head_.checkpoint.size;
  if (is_signed(head_.note, head_.checkpoint)) return true;
  report_.findings.add("checkpoint", std::nullopt,
                       fmt::format("no known key of log '{}' has signed the checkpoint", report_.origin));
  return false;
}

void LogVerifier::verify_entries() {
  const std::uint64_t bundles = (report_.size + kTileWidth - 1) / kTileWidth;
  const unsigned threads = options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
  std::deque<std::future<Block>> running;
  const auto take = [&] {
    Block block = running.front().get();
    running.pop_front();
    add_block(std::move(block));
  };
  for (std::uint64_t first = 0; first < bundles; first += kBlockBundles) {
    const std::uint64_t last = std::min(bundles, first + kBlockBundles);
    running.push_back(std::async(std::launch::async, [this, first, last] { return read_block(first, last); }));
    if (running.size() > threads) take();
  }
  while (!running.empty()) take();
}

Block LogVerifier::read_block(std::uint64_t first, std::uint64_t last) const {
  Block block;
  block.facts.reserve((last - first) * kTileWidth);
  for (std::uint64_t bundle = first; bundle < last; ++bundle) verify_bundle(bundle, block);
  return block;
}

void LogVerifier::verify_bundle(std::uint64_t bundle, Block& block) const try {
  const unsigned width = tile_width(report_.size, 0, bundle);
  std::vector<Digest> leaves = TileReader(folder_, report_.size).hashes(0, bundle);
  const Bundle& read = block.bundles.emplace_back(read_bundle(folder_, bundle, report_.size));
  for (const auto& [position, entry] : read.entries) {
    const std::uint64_t index = bundle * kTileWidth + position;
    if (leaf_hash(entry) != leaves[position]) {
      block.findings.add("entry", index, "the entry is not the one in the tree");
    } else if (auto facts = read_facts(entry, index, block.findings)) {
      block.facts.push_back(std::move(*facts));
    }
  }
  if (read.entries.size() < width) block.missing[bundle] = width - read.entries.size();
  if (width == kTileWidth) {
    block.tile_roots.push_back(complete_root(leaves));
  } else {
    block.last_leaves = std::move(leaves);
  }
} catch (const Error& error) {
  block.findings.add("tree", bundle * kTileWidth, error.what());
  if (tile_width(report_.size, 0, bundle) == kTileWidth) block.tile_roots.push_back({});
}

void LogVerifier::add_block(Block block) {
  report_.findings.add_all(block.findings);
  for (const EntryFacts& facts : block.facts) meaning_.add(facts);
  for (const auto& [bundle, count] : block.missing) meaning_.add_missing(bundle, count);
  if (rows_.size() < 2) rows_.resize(2);
  rows_[1].insert(rows_[1].end(), block.tile_roots.begin(), block.tile_roots.end());
  if (!block.last_leaves.empty()) rows_[0] = std::move(block.last_leaves);
}

Digest LogVerifier::computed(unsigned height, std::uint64_t index) const {
  const std::uint64_t first = index << (height % 8);
  const auto& row = rows_[height / 8];
  const std::size_t begin = height < 8 ? first % kTileWidth : first, count = std::size_t{1} << (height % 8);
  if (begin + count > row.size()) fail(Code::bad_input, "log '{}': hashes are missing", folder_);
  return complete_root(std::span(row).subspan(begin, count));
}

void LogVerifier::verify_tree() {
  if (rows_.size() < 2) rows_.resize(2);
  TileReader files(folder_, report_.size);
  for (unsigned level = 1; level < rows_.size() && !rows_[level].empty(); ++level) {
    for (std::uint64_t index = 0; index * kTileWidth < rows_[level].size(); ++index) {
      const auto begin = rows_[level].begin() + static_cast<std::ptrdiff_t>(index * kTileWidth);
      const std::vector<Digest> tile(begin, begin + tile_width(report_.size, level, index));
      guarded("tree", [&] {
        if (files.hashes(level, index) != tile) {
          fail(Code::bad_input, "file '{}': its hashes are not those of the tiles below it",
               TileName{.level = level, .index = index, .width = static_cast<unsigned>(tile.size())}.path());
        }
      });
      if (tile.size() < kTileWidth) continue;
      if (rows_.size() == level + 1) rows_.emplace_back();
      rows_[level + 1].push_back(complete_root(tile));
    }
  }
  guarded("tree", [&] {
    const SubtreeHash source = [this](unsigned height, std::uint64_t index) { return computed(height, index); };
    if (root_of(report_.size, source) != head_.checkpoint.root) {
      fail(Code::bad_input, "the entries do not lead to the root of the checkpoint of size {}", report_.size);
    }
  });
}

void LogVerifier::verify_contains(const char* check, const std::string& name, const Checkpoint& old) {
  if (old.size > report_.size) {
    report_.findings.add(check, std::nullopt,
                         fmt::format("{}: it has {} entries, the log {}: the log was cut or is an older copy", name,
                                     old.size, report_.size));
    return;
  }
  guarded(check, [&] {
    TileReader tiles(folder_, report_.size);
    if (root_of(old.size, tiles.subtrees()) != old.root) {
      fail(Code::bad_input, "{}: its first {} entries are not those of the log: the log was rewritten", name, old.size);
    }
  });
}

void LogVerifier::verify_quorum(const SignedCheckpoint& checkpoint) {
  const auto names = options_.policy.witnesses_of(checkpoint.note);
  if (names.empty() || !options_.policy.is_quorum(names) || checkpoint.checkpoint.size < report_.witnessed_size) return;
  report_.witnessed_size = checkpoint.checkpoint.size;
  std::uint64_t oldest = ~std::uint64_t{0};
  for (const auto& witness : options_.policy.witnesses()) {
    for (const NoteSignature& given : checkpoint.note.signatures) {
      const bool own = given.name == witness.key.name && given.key_id == witness.key.id();
      if (own && names.contains(witness.name)) oldest = std::min(oldest, cosignature_time(given));
    }
  }
  report_.witnessed_at = format_time(static_cast<std::int64_t>(std::min<std::uint64_t>(oldest, 1u << 31) * 1000));
}

/// Returns whether a note has a signature of a witness that the policy lacks. Without witnesses, none is known.
bool LogVerifier::has_unknown_key(const Note& note) const {
  const auto is_of = [](const NoteSignature& given, const VerifierKey& key) {
    return given.name == key.name && given.key_id == key.id();
  };
  return options_.policy.needs_witnesses() && std::ranges::any_of(note.signatures, [&](const NoteSignature& given) {
           const auto of_log = [&](const VerifierKey& log) { return is_of(given, log); };
           const auto of_witness = [&](const WitnessPolicy::Witness& witness) { return is_of(given, witness.key); };
           return std::ranges::none_of(options_.policy.logs(), of_log) &&
                  std::ranges::none_of(options_.policy.witnesses(), of_witness);
         });
}

void LogVerifier::verify_history() {
  std::vector<SignedCheckpoint> history;
  guarded("history", [&] { history = read_history(folder_); });
  report_.history = history.size();
  std::uint64_t before = 0;
  for (const SignedCheckpoint& old : history) {
    const std::string name = fmt::format("the cosigned checkpoint of size {}", old.checkpoint.size);
    if (!is_signed(old.note, old.checkpoint)) {
      report_.findings.add("history", std::nullopt, name + ": no known key of the log has signed it");
    }
    if (has_unknown_key(old.note)) {
      report_.findings.add("history", std::nullopt, name + ": it has a signature of a key that the policy lacks");
    }
    for (const auto& witness : options_.policy.witnesses()) {
      if (verify_signature(old.note, witness.key) != SignatureState::invalid) continue;
      report_.findings.add("history", std::nullopt,
                           fmt::format("{}: the cosignature of '{}' is not valid", name, witness.name));
    }
    if (old.checkpoint.size < before) report_.findings.add("history", std::nullopt, name + ": it follows a larger one");
    before = old.checkpoint.size;
    verify_contains("history", name, old.checkpoint);
    verify_quorum(old);
  }
  const bool cosigned = head_.note.signatures.size() > 1;
  if (cosigned && (history.empty() || format_note(history.back().note) != format_note(head_.note))) {
    report_.findings.add("history", std::nullopt, "it does not end with the checkpoint, which is cosigned");
  }
  verify_quorum(head_);
  if (options_.policy.needs_witnesses() && report_.witnessed_at.empty()) {
    report_.findings.add("witness", std::nullopt,
                         fmt::format("no checkpoint has cosignatures of the quorum '{}'", options_.policy.quorum()));
  }
}

void LogVerifier::verify_older(const std::string& name, const std::string& text) {
  const auto [note, old] = SignedCheckpoint::parse(text, name);
  if (old.origin != report_.origin) {
    report_.findings.add("checkpoint", std::nullopt,
                         fmt::format("{}: it is of log '{}', not '{}'", name, old.origin, report_.origin));
    return;
  }
  if (!is_signed(note, old)) {
    report_.findings.add("checkpoint", std::nullopt, name + ": no known key of the log has signed it");
  }
  verify_contains("checkpoint", name, old);
}

void LogVerifier::verify_files() {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder_ + "/tile", error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory()) continue;
    const std::string path = fs::relative(at->path(), folder_);
    if (path.ends_with(".new")) {
      report_.notes.push_back(fmt::format("file '{}' was left by a crash", path));
    } else {
      guarded("file", [&] { verify_file(path); });
    }
  }
}

/// Checks the name of a file, and incomplete tiles against the complete ones.
void LogVerifier::verify_file(const std::string& path) {
  const auto name = TileName::parse(path);
  if (!name) fail(Code::bad_input, "file '{}': the log has no such file", path);
  if (name->width == kTileWidth || name->kind == TileKind::kept) return;
  const std::uint64_t end = (name->index * kTileWidth + name->width) << (8 * name->level);
  if (end > report_.size) return;  // written before its checkpoint
  const std::string bytes = read_file(folder_ + "/" + path, kMaxTileBytes), what = fmt::format("file '{}'", path);
  TileReader tiles(folder_, report_.size);
  const auto& hashes = tiles.hashes(name->level, name->index);
  std::vector<Digest> found;
  if (name->kind == TileKind::hashes) {
    found = parse_hashes(bytes, name->width, what);
  } else {
    for (const auto entry : parse_bundle(bytes, name->width, what)) found.push_back(leaf_hash(entry));
  }
  if (!std::ranges::equal(found, std::span(hashes).first(name->width))) {
    fail(Code::bad_input, "{}: its content is not that of the tree", what);
  }
}

void LogVerifier::verify_journal() {
  const std::string path = folder_ + "/journal";
  guarded("journal", [&] {
    const std::string text = read_file(path, kMaxJournalBytes);
    const Journal journal = parse_journal(text, fmt::format("file '{}'", path));
    const std::uint64_t end = journal.start + journal.entries.size();
    if (journal.start > report_.size || end < report_.size) {
      fail(Code::bad_input, "file '{}': it has entries {} to {}, the checkpoint {}", path, journal.start, end,
           report_.size);
    }
    TileReader tiles(folder_, report_.size);
    for (std::uint64_t i = journal.start; i < report_.size; ++i) {
      const Digest& leaf = tiles.hashes(0, i / kTileWidth)[i % kTileWidth];
      if (leaf_hash(journal.entries[i - journal.start]) == leaf) continue;
      fail(Code::bad_input, "file '{}': entry {} is not the one in the tree", path, i);
    }
    report_.unsigned_entries = end - report_.size;
    if (journal.bytes < text.size()) {
      report_.notes.push_back(
          fmt::format("{} bytes of incomplete entries follow the journal's last entry", text.size() - journal.bytes));
    }
  });
}

}  // namespace

void Findings::add(std::string check, std::optional<std::uint64_t> entry, std::string text) {
  ++count_;
  if (list_.size() < kMaxFindings) list_.push_back({std::move(check), entry, std::move(text)});
}

void Findings::add_all(const Findings& more) {
  for (const Finding& finding : more.list_) add(finding.check, finding.entry, finding.text);
  count_ += more.count_ - more.list_.size();
}

Json VerifyReport::json() const {
  Json list = Json::array();
  for (const Finding& finding : findings.list()) {
    list.push_back({{"check", finding.check}, {"text", finding.text}});
    if (finding.entry) list.back()["entry"] = *finding.entry;
  }
  return {{"ok", ok()},
          {"origin", origin},
          {"size", size},
          {"witnessed_size", witnessed_size},
          {"witnessed_at", witnessed_at},
          {"unsigned", unsigned_entries},
          {"pruned", pruned},
          {"lost", lost},
          {"blobs", blobs},
          {"history", history},
          {"kinds", kinds},
          {"violations", findings.count()},
          {"findings", list},
          {"notes", notes}};
}

VerifyReport verify_log(const std::string& folder, const VerifyOptions& options) {
  return LogVerifier(folder, options).run();
}

}  // namespace frazil::govern
