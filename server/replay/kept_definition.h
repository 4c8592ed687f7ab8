#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <frazil/model.h>

#include "govern/base/json.h"
#include "server/core/workers.h"
#include "server/model/model_parts.h"
#include "server/model/served.h"
#include "server/state/state_store.h"

// Definitions of models and pipelines as blobs of an audit log, from which they can be made again.
//
// A manifest is a JSON object with "form": 1, "name", "version" and "definition", the digest of the served definition.
// A model also has "text", the digest of its text form, "weights", the digests of lists of its tensors, "config" and
// "run". A pipeline has "source" with its file and what its steps read, and "uses", the manifests of its models.
namespace frazil::server {

/// The reason why a definition cannot be kept or made again.
class KeptFault : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Stores bytes and returns their digest.
using PutBlob = std::function<std::string(std::string_view bytes)>;
/// Returns the bytes of a digest. Throws if they are missing.
using GetBlob = std::function<std::string(const std::string& digest)>;

/// A manifest and the blobs that belong to it.
struct KeptDefinition {
  std::string manifest;            ///< its digest
  std::vector<std::string> blobs;  ///< of its files, without those of used models
};

/// Stores a definition. Models that a pipeline uses must have their VersionGovernance::manifest. Throws KeptFault for a
/// definition that cannot be kept.
KeptDefinition keep_definition(const Served& served, const PutBlob& put);

/// Makes kept definitions again, each once. Not thread-safe.
class KeptDefinitions {
 public:
  /// The arguments outlive this object.
  KeptDefinitions(GetBlob get, Workers& workers, StateStore& states)
      : get_(std::move(get)), workers_(workers), states_(states) {}

  /// A replacement of a used model: by its name, the manifest to use instead.
  using Replacements = std::map<std::string, std::string>;
  /// Returns the definition of a manifest. Throws KeptFault if it cannot be made again, and unless `replaced` has a
  /// model of it, if its digest is another one.
  std::shared_ptr<const Served> make(const std::string& manifest, const Replacements& replaced = {});

 private:
  std::shared_ptr<const Served> made(const std::string& manifest, const Replacements& replaced);
  std::shared_ptr<const Served> model_of(const govern::Json& manifest);
  std::shared_ptr<const Served> pipeline_of(const govern::Json& manifest, const Replacements& replaced);

  GetBlob get_;
  Workers& workers_;
  StateStore& states_;
  std::map<std::string, std::shared_ptr<const Served>> made_;  ///< by manifest
};

}  // namespace frazil::server
