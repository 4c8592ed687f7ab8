#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "server/service/service.h"

namespace frazil::server {

/// Reads the shared inputs of a request. Throws Refusal: forbidden if shared memory is off, otherwise as
/// SharedMemory::take_inputs().
inline void take_shared_inputs(Service& service, const Tenants::Identity& identity, InferRequest& request) {
  if (request.shared_inputs.empty()) return;
  service.gate().check_on(Feature::client_shm);
  service.shared_memory().take_inputs(identity, request);
}

/// The outputs of a request that go to shared memory.
class SharedOutputs {
 public:
  /// `service` outlives the object. Throws Refusal (forbidden) if shared memory is off.
  SharedOutputs(Service& service, const Tenants::Identity& identity, const InferRequest& request)
      : service_(&service), identity_(identity) {
    for (const WantedOutput& output : request.outputs) {
      if (output.shared) wanted_.push_back(output);
    }
    if (!wanted_.empty()) service.gate().check_on(Feature::client_shm);
  }
  /// Writes them. Throws Refusal.
  void place(InferResponse& response) const {
    if (!wanted_.empty()) service_->shared_memory().place_outputs(identity_, wanted_, response);
  }

 private:
  Service* service_;
  Tenants::Identity identity_;
  std::vector<WantedOutput> wanted_;
};

}  // namespace frazil::server
