#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/value/error.h"
#include "bench/host_tensor.h"
#include "tensor/tensor.h"

/// Conversion between the peer's tensors and the library's. Functions throw std::runtime_error with the library's
/// message.
namespace bench {

[[noreturn]] inline void raise(const frazil::Fault& fault) { throw std::runtime_error("frazil: " + fault.text()); }

template <class T>
T take(frazil::Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

Elem host_elem(frazil::Elem elem);
frazil::Tensor to_tensor(const HostTensor& tensor);
HostTensor to_host(const frazil::Tensor& tensor);

HostTensor read_npy(const std::string& path);
void write_npy(const std::string& path, const HostTensor& tensor);

}  // namespace bench
