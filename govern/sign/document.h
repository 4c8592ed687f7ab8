#pragma once

#include <expected>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/key.h"
#include "govern/sign/dsse.h"
#include "govern/sign/moment.h"

// Signed documents: policies, envelopes and lists of persons, as DSSE with signatures of several keys, a serial number
// and an expiry.
namespace frazil::govern {

/// The kinds of documents. A document of one kind is never accepted as another.
inline constexpr std::string_view kPolicyKind = "policy", kEnvelopeKind = "envelope", kPersonsKind = "persons";

struct Document {
  std::string kind;
  std::uint64_t serial = 0;               ///< grows with each edition
  Moment not_after = 0;                   ///< the last second in which it is valid
  std::string content;                    ///< UTF-8
  std::vector<std::size_t> signers = {};  ///< set by verify_document(): indices of the keys that signed it

  /// Returns "sha256:..." of the content.
  std::string digest() const;
};

/// Returns an envelope with the document and no signature: add_signature(). Its payload type is
/// "application/vnd.frazil.KIND+json". Throws Code::bad_input for a content that is not UTF-8.
Envelope envelope_of(const Document& document);

/// Verifies that `threshold` distinct keys signed a document of this kind and that it has not expired. Returns the
/// reason if not. `what` names it in errors. Throws Code::bad_input for a text that is not such an envelope.
std::expected<Document, std::string> verify_document(std::string_view text, std::string_view kind,
                                                     std::span<const PublicKey> keys, std::size_t threshold, Moment now,
                                                     std::string_view what);

/// The highest serials that were accepted, in a file, so that an older edition is refused after a restart, too. One
/// process at a time may use a file. Thread-safe.
class SerialStore {
 public:
  /// Reads the file, which may be missing. Throws Code::bad_input for a file that is damaged: an operator must decide.
  explicit SerialStore(std::string path);

  /// Accepts a document whose serial is higher than all before, or the same document again. The file is written, and
  /// survives a crash, before the function returns. Returns the reason if the document is not accepted. Throws
  /// Code::bad_input if the file cannot be written.
  std::expected<void, std::string> accept(const Document& document);

 private:
  std::string path_;
  std::mutex mutex_;
  Json known_;  ///< guarded by mutex_; {"policy": {"serial": 7, "digest": "sha256:..."}}
};

}  // namespace frazil::govern
