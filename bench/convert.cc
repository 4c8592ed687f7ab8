#include "bench/convert.h"

#include <cstring>

#include "tensor/npy.h"
#include "tensor/onnx_proto.h"

namespace bench {

Elem host_elem(frazil::Elem elem) { return static_cast<Elem>(frazil::onnx_data_type(elem)); }

frazil::Tensor to_tensor(const HostTensor& tensor) {
  auto elem = frazil::elem_from_onnx(static_cast<std::int64_t>(tensor.elem));
  if (!elem) throw std::runtime_error("inputs of this element type are not supported");
  frazil::Tensor copy = take(frazil::Tensor::make(*elem, tensor.dims));
  if (!tensor.data.empty()) std::memcpy(copy.mutable_data(), tensor.data.data(), tensor.data.size());
  return copy;
}

HostTensor to_host(const frazil::Tensor& tensor) {
  frazil::Tensor packed = take(tensor.packed());
  HostTensor host(host_elem(packed.elem()), packed.sizes());
  if (elem_size(host.elem) == 0) throw std::runtime_error("an output's element type is not supported");
  if (!host.data.empty()) std::memcpy(host.data.data(), packed.data(), host.data.size());
  return host;
}

HostTensor read_npy(const std::string& path) { return to_host(take(frazil::read_npy(path))); }

void write_npy(const std::string& path, const HostTensor& tensor) {
  if (const frazil::Status status = frazil::write_npy(path, to_tensor(tensor)); !status) raise(status.error());
}

}  // namespace bench
