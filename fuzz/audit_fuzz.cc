// Reads bytes as the texts of an audit log; the first byte selects the kind. A text that can be read is written again
// as it was. A refused text gives an error of one line.
#include <cstdint>

#include "govern/audit/entry_scan.h"
#include "govern/audit/history.h"
#include "govern/audit/journal.h"
#include "govern/audit/proof.h"
#include "govern/audit/tiles.h"
#include "govern/audit/verify_meaning.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "require.h"

namespace frazil::fuzz {
namespace {

using namespace govern;

void read_note(std::string_view text) {
  const SignedCheckpoint read = SignedCheckpoint::parse(text, "f");
  require(format_note(read.note) == text, "a note changes when it is written");
  const std::string line = format_history(read);
  const SignedCheckpoint again =
      parse_history(std::string_view(line).substr(0, line.size() - 1), read.checkpoint.origin, "f");
  require(format_history(again) == line, "a line of the history changes when it is written");
}

void read_proof(std::string_view text) {
  const EntryProof proof = EntryProof::parse(text, "f");
  require(EntryProof::parse(proof.text(), "f").text() == proof.text(), "a proof changes when it is written");
  (void)check_entry_proof(proof, WitnessPolicy::of_logs({}));
}

void read_tile(std::string_view text) {
  std::string again;
  for (const auto entry : parse_bundle(text, text.size() % 257, "f")) append_entry(again, entry);
  require(again == text, "a bundle changes when it is written");
}

void read_event(std::string_view text) {
  Findings findings;
  const auto facts = read_facts(text, 0, findings);
  require(facts.has_value() == (findings.count() == 0), "an entry without facts and without a finding");
  if (facts) require(fault_of_event(parse_json(text, "f")).empty(), "an entry that the table does not allow");
}

void read_text(unsigned kind, std::string_view text) {
  switch (kind % 7) {
    case 0: return read_note(text);
    case 1: return read_proof(text);
    case 2: return read_tile(text);
    case 3: return require(format_kept(parse_kept(text, "f")) == text, "kept entries change when they are written");
    case 4: return (void)parse_journal(text, "f");
    case 5: return (void)WitnessPolicy::parse(text, "f");
    default: return read_event(text);
  }
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    frazil::fuzz::read_text(data[0], frazil::govern::text_of({data + 1, size - 1}));
  } catch (const frazil::govern::Error& error) {
    const std::string_view text = error.what();
    frazil::fuzz::require(!text.empty() && text.find('\n') == text.npos, "an error of several lines: {}", text);
  }
  return 0;
}
