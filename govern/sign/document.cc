#include "govern/sign/document.h"

#include <filesystem>

#include <frazil/text.h>

#include "govern/base/digest.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {
namespace {

std::string payload_type(std::string_view kind) { return fmt::format("application/vnd.frazil.{}+json", kind); }

Document document_from(std::string_view payload, std::string_view kind, std::string_view what) {
  const Json json = parse_json(payload, what);
  const std::string& until = text_member(json, "not_after", what);
  const auto not_after = moment_from(until);
  if (!not_after) {
    fail(Code::bad_input, "{}: 'not_after': expected a time such as 2026-11-28T14:05:09Z, got '{}'", what,
         api::printable(until));
  }
  if (text_member(json, "kind", what) != kind) fail(Code::bad_input, "{}: 'kind': expected '{}'", what, kind);
  return {.kind = std::string(kind),
          .serial = number_member(json, "serial", what),
          .not_after = *not_after,
          .content = text_member(json, "content", what)};
}

}  // namespace

std::string Document::digest() const { return digest_text(sha256(content)); }

Envelope envelope_of(const Document& document) {
  const Json payload = {{"kind", document.kind},
                        {"serial", document.serial},
                        {"not_after", moment_text(document.not_after)},
                        {"content", document.content}};
  return {.payload_type = payload_type(document.kind), .payload = canonical(payload), .signatures = {}};
}

std::expected<Document, std::string> verify_document(std::string_view text, std::string_view kind,
                                                     std::span<const PublicKey> keys, std::size_t threshold, Moment now,
                                                     std::string_view what) {
  const auto verified = verify_envelope(read_envelope(text, what), payload_type(kind), keys, threshold);
  if (!verified) return std::unexpected(verified.error());
  Document document = document_from(verified->payload, kind, what);
  document.signers = verified->signers;
  if (now <= document.not_after) return document;
  return std::unexpected("it expired at " + moment_text(document.not_after));
}

SerialStore::SerialStore(std::string path) : path_(std::move(path)), known_(Json::object()) {
  constexpr std::uint64_t kMaxBytes = 1 << 16;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path_))) return;
  const std::string what = "file '" + path_ + "'";
  known_ = parse_json(read_file(path_, kMaxBytes), what);
  if (!known_.is_object()) fail(Code::bad_input, "{}: expected the serials of documents", what);
  for (const auto& [kind, entry] : known_.items()) {
    (void)number_member(entry, "serial", what);
    (void)text_member(entry, "digest", what);
  }
}

std::expected<void, std::string> SerialStore::accept(const Document& document) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(document.kind);
  if (known != known_.end()) {
    const auto serial = (*known)["serial"].get<std::uint64_t>();
    if (document.serial < serial) {
      return std::unexpected(
          fmt::format("its serial {} is lower than {}, which was accepted before", document.serial, serial));
    }
    const bool same = (*known)["digest"] == document.digest();
    if (document.serial == serial && same) return {};
    if (document.serial == serial) {
      return std::unexpected(fmt::format("another document with serial {} was accepted before", serial));
    }
  }
  Json next = known_;
  next[document.kind] = {{"serial", document.serial}, {"digest", document.digest()}};
  write_file(path_, canonical(next));
  known_ = std::move(next);
  return {};
}

}  // namespace frazil::govern
