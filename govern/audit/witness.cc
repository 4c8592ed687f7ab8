#include "govern/audit/witness.h"

#include <algorithm>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>

#include "govern/audit/event.h"
#include "govern/audit/tree.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMaxProofLines = 63;

/// The parts of a request.
struct AddCheckpoint {
  std::uint64_t old = 0;
  std::vector<Digest> proof;
  SignedCheckpoint next;
};

AddCheckpoint parse_request(std::string_view body) {
  AddCheckpoint request;
  const auto first = take_line(body);
  const auto old = first && first->starts_with("old ") ? parse_decimal(first->substr(4)) : std::nullopt;
  if (!old) fail(Code::bad_input, "the request: expected 'old' and a size in the first line");
  request.old = *old;
  while (const auto line = take_line(body)) {
    if (line->empty()) {
      request.next = SignedCheckpoint::parse(body, "the request");
      return request;
    }
    const auto hash = parse_digest(*line);
    if (!hash || request.proof.size() == kMaxProofLines)
      fail(Code::bad_input, "the request: expected at most 63 hashes");
    request.proof.push_back(*hash);
  }
  fail(Code::bad_input, "the request has no checkpoint");
}

WitnessAnswer refusal(unsigned status, std::string text) { return {status, std::move(text) + "\n"}; }

}  // namespace

Witness::Witness(std::string folder, std::string name, const SigningKey& key, std::vector<VerifierKey> logs,
                 std::function<std::uint64_t()> clock)
    : folder_(std::move(folder)), name_(std::move(name)), key_(key), logs_(std::move(logs)), clock_(std::move(clock)) {
  if (!is_key_name(name_)) fail(Code::bad_input, "witness '{}': expected a name without spaces and '+'", name_);
  if (!clock_) clock_ = [] { return static_cast<std::uint64_t>(now_milliseconds() / 1000); };
  make_folder(folder_);
  const std::string path = folder_ + "/lock";
  lock_ = File(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    fail(Code::bad_input, "folder '{}': another witness uses it, or it cannot be written", folder_);
  }
  for (const VerifierKey& log : logs_) {
    const std::string state = state_path(log.name);
    if (!std::filesystem::exists(state)) continue;
    const std::string what = fmt::format("file '{}'", state);
    Checkpoint last = Checkpoint::parse(read_file(state, kMaxNoteBytes), what);
    if (last.origin != log.name) fail(Code::bad_input, "{}: expected the state of log '{}'", what, log.name);
    states_[log.name] = std::move(last);
  }
}

std::string Witness::state_path(const std::string& origin) const { return folder_ + "/" + hex(sha256(origin)); }

WitnessAnswer Witness::add_checkpoint(std::string_view body) try {
  const AddCheckpoint request = parse_request(body);
  const Checkpoint& next = request.next.checkpoint;
  const auto of_log = [&](const VerifierKey& key) { return key.name == next.origin; };
  if (std::ranges::none_of(logs_, of_log)) return refusal(404, "the log is not known");
  const bool valid = std::ranges::any_of(logs_, [&](const VerifierKey& key) {
    return of_log(key) && verify_signature(request.next.note, key) == SignatureState::valid;
  });
  if (!valid) return refusal(403, "no known key of the log has signed the checkpoint");
  if (request.old > next.size) return refusal(400, "the old size is larger than the checkpoint's");
  const std::lock_guard lock(mutex_);
  return cosign_next(request.old, request.proof, request.next);
} catch (const Error& error) {
  return refusal(400, error.what());
}

WitnessAnswer Witness::cosign_next(std::uint64_t old, const std::vector<Digest>& proof, const SignedCheckpoint& next) {
  const Checkpoint& checkpoint = next.checkpoint;
  const auto state = states_.find(checkpoint.origin);
  const Checkpoint last = state != states_.end() ? state->second : Checkpoint{checkpoint.origin, 0, empty_root()};
  const WitnessAnswer conflict{409, fmt::format("{}\n", last.size)};
  if (old != last.size) return conflict;
  if (old == checkpoint.size && last.root != checkpoint.root) return conflict;
  if (!is_consistent(old, last.root, checkpoint.size, checkpoint.root, proof)) {
    return refusal(422, "the proof does not lead from the cosigned root to the checkpoint's");
  }
  try {
    write_file(state_path(checkpoint.origin), checkpoint.text());
  } catch (const Error&) {
    return refusal(500, "the state cannot be stored");
  }
  states_[checkpoint.origin] = checkpoint;
  return {200, format_signature(cosign(next.note.text, name_, key_, clock_()))};
}

}  // namespace frazil::govern
