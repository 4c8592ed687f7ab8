#pragma once

#include <string>
#include <vector>

#include "govern/audit/note.h"

// The checkpoints that witnesses have cosigned: the file `history` of a log, one a line.
namespace frazil::govern {

/// Returns the line of a note, without the origin: "SIZE ROOT NAME BASE64 ...", and a newline.
std::string format_history(const SignedCheckpoint& checkpoint);
/// Returns a line's checkpoint. Throws Code::bad_input.
SignedCheckpoint parse_history(std::string_view line, const std::string& origin, std::string_view what);
/// Returns the checkpoints of a log, from the oldest. Ignores a last line without its end, which a crash leaves.
/// Throws Code::bad_input.
std::vector<SignedCheckpoint> read_history(const std::string& folder);
/// Appends a checkpoint and syncs the file. Throws Code::bad_input; the file is then as before.
void append_history(const std::string& folder, const SignedCheckpoint& checkpoint);

}  // namespace frazil::govern
