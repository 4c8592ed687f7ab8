#pragma once

#include <memory>
#include <string>
#include <vector>

#include <frazil/host_operator.h>
#include <frazil/model.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"
#include "compat/onnxruntime/options.h"

/// Operators of one domain. The program keeps it as long as sessions that use it.
struct OrtCustomOpDomain {
  std::string name;
  std::vector<const OrtCustomOp*> operators;
};

namespace frazil::ort {

struct CustomNodes;

/// The custom operators of a session, with a kernel for each of their nodes. Destroys the kernels: the program may
/// destroy the operators then, although code of the model may still be compiled in the background.
class CustomOperators {
 public:
  explicit CustomOperators(const OrtSessionOptions& options);
  CustomOperators(CustomOperators&&) noexcept = default;
  CustomOperators& operator=(CustomOperators&&) = delete;
  ~CustomOperators();
  /// Returns the file as it is to be loaded, with host().
  std::string prepared(const std::string& file);
  /// Returns the operators for LoadOptions. They fail after the end of this object.
  std::shared_ptr<const std::vector<api::HostOperator>> host() const;
  /// Makes the kernels. Call it once, after the load. Throws what a kernel's constructor says.
  void make_kernels(const api::Model& model);

 private:
  std::shared_ptr<CustomNodes> nodes_;
};

}  // namespace frazil::ort
