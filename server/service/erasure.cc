#include "server/service/erasure.h"

#include "govern/audit/subject_keys.h"
#include "govern/base/error.h"
#include "server/core/message.h"

namespace frazil::server {

govern::EraseResult erase_subject(const ServiceOptions& options, const std::string& subject, const std::string& actor) {
  if (options.audit == nullptr) refuse("there is no audit log: start the server with --audit");
  if (options.subject_keys == nullptr) refuse("there are no keys of subjects: set governance.keys");
  try {
    return options.audit->erase(*options.subject_keys, subject, actor);
  } catch (const api::Error& error) {
    const bool busy = error.code() == api::Code::limit;
    throw Refusal::plain(busy ? Http::unavailable : Http::bad_request, error.what());
  }
}

}  // namespace frazil::server
