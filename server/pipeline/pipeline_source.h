#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace frazil::server {

/// The files from which a pipeline is made, without its models. The pipeline can be made from it again without its
/// files. Plain data.
struct PipelineSource {
  using Ports = std::vector<std::pair<std::string, std::string>>;  ///< names and types
  struct Function {
    Ports inputs, outputs;
  };
  std::string text;                           ///< of the file
  std::string digest;                         ///< SHA-256 of the file as it was; `text` may be without its secrets
  std::map<std::string, std::string> files;   ///< contents of files that steps have read, by their path in the text
  std::map<std::string, Function> functions;  ///< registered host functions that steps call
};

}  // namespace frazil::server
