#pragma once

#include <array>
#include <string>
#include <string_view>

#include "server/config/governance_config.h"
#include "server/core/message.h"
#include "server/model/repository.h"
#include "server/request/path_record.h"

namespace frazil::server {

/// The rules by which texts of errors, ids, traces and paths of URLs leave a server that handles personal data. Values
/// are hidden by the labels of the version that a request runs (label_values.h). Thread-safe.
class Privacy {
 public:
  explicit Privacy(const GovernanceConfig& config);

  const PersonalNames& names() const { return names_; }

  /// Returns "hmac-sha256:..." under a key of this process, so that records of equal texts can be joined and none can
  /// be compared with guesses. `what` separates kinds of texts. Returns empty texts unchanged.
  std::string commitment(std::string_view what, std::string_view text) const;
  /// Returns the id of a request as records show it: a commitment, unless `shown` has "id".
  std::string id(const std::string& given) const;
  /// Returns a W3C traceparent with other ids, equal for equal ids, unless `shown` has "trace"; empty for another form.
  std::string trace(const std::string& given) const;
  /// Makes an unsuccessful outcome of a call show no value, if the version's labels say that it may have one.
  void hide_errors(Call& call, const Served& target) const;
  /// Returns the path of a URL with "*" for each part that is neither a word of the protocol nor a served model.
  static std::string path(std::string_view given, const Repository& models);

 private:
  PersonalNames names_;
  std::array<char, 32> key_;
};

/// Makes a path record hide what the labels of its version say: values of inputs and outputs, reasons, counts of
/// iterations, keys of splits. Steps of a record that has no labels stay as they are.
void hide_values(std::vector<PathRecord::Step>& steps, const Labels& labels);

}  // namespace frazil::server
