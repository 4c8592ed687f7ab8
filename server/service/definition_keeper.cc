#include "server/service/definition_keeper.h"

#include "server/pipeline/pipeline.h"
#include "server/replay/kept_definition.h"

namespace frazil::server {
namespace {

constexpr std::size_t kMaxListedBlobs = 500;  // blobs in an event, which has at most 64 KiB

}  // namespace

void DefinitionKeeper::keep(const Repository& models) const {
  for (const auto& served : models.all()) keep(*served);
}

void DefinitionKeeper::keep(const Served& served) const {
  if (!served.governance().manifest.empty()) return;
  if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&served)) {
    for (const Pipeline::Use& use : pipeline->uses()) keep(*use.target);
  }
  try {
    const KeptDefinition kept =
        keep_definition(served, [this](std::string_view bytes) { return audit_->put_blob(bytes); });
    govern::Json event = {{"kind", "keep"},
                          {"model", served.name()},
                          {"version", served.version()},
                          {"definition", served.digest()},
                          {"manifest", kept.manifest},
                          {"blobs", {kept.manifest}}};
    if (kept.blobs.size() < kMaxListedBlobs) {
      for (const std::string& blob : kept.blobs) event["blobs"].push_back(blob);
    }
    audit_->append_durable(std::move(event));
    served.governance().manifest = kept.manifest;
  } catch (const KeptFault& fault) {
    warn(notify_, model_subject(served.name()),
         "the audit log does not keep its definition, so that its requests cannot be replayed: " +
             std::string(fault.what()));
  }
}

}  // namespace frazil::server
