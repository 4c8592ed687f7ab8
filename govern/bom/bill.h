#pragma once

#include <string>
#include <vector>

#include <frazil/model.h>

#include "govern/base/json.h"
#include "govern/base/key.h"

// Bills of materials of served folders: CycloneDX 1.7.
namespace frazil::govern {

/// A pipeline of the folder, as its reader describes it.
struct BillPipeline {
  struct Model {
    std::string name, version;  ///< empty version: the newest
  };
  struct Endpoint {
    std::string kind;  ///< "http", "redis"
    std::string url;
  };
  std::string name;
  std::string file;  ///< relative to the folder
  std::vector<Model> models;
  std::vector<Endpoint> endpoints;
  std::vector<std::string> code;  ///< files, relative to the folder
};

/// A part of the build.
struct BillLibrary {
  std::string name, version;
};

struct BillOptions {
  std::string folder;
  std::vector<PublicKey> trusted = {};  ///< keys of model signatures; without any, nothing is verified
  std::vector<BillPipeline> pipelines = {};
  std::string version = {};  ///< of Frazil
  std::vector<BillLibrary> libraries = {};
  std::string timestamp = {};  ///< "2026-11-28T14:05:09Z"; empty: none, so that equal folders have equal bills
  api::LoadOptions load = {};
};

/// Returns the bill of the models of a folder in the layouts NAME.onnx, NAME/VERSION/model.onnx and the same with
/// .frzc, of its pipelines and of the build. The serial number is derived from the content. Each component and service
/// has the property `frazil:evidence`, and each fact that has another one `frazil:evidence:FACT`:
///
///   verified   a signature of a trusted key covers the file
///   inferred   computed from the file
///   declared   somebody wrote it into the file
///
/// A model that cannot be loaded has the property `frazil:not-loaded` with the reason, and no definition digest;
/// packages
/// (.frzc) are not loaded. A signature that is not accepted is the property `frazil:violation` of the folder. Throws
/// Code::bad_input for a folder or a file that cannot be read, and for links.
Json bill_of_materials(const BillOptions& options);

/// Returns the bill as lines of text for a terminal.
std::string text_of_bill(const Json& bill);

}  // namespace frazil::govern
