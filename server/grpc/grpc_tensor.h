#pragma once

#include <string_view>

#include <frazil/array.h>
#include <protozero/pbf_writer.hpp>

namespace frazil::server::proto {

/// Writes name, datatype and shape: a TensorMetadata, or an InferOutputTensor without contents. `more(writer)` adds
/// further fields.
template <class F>
void add_tensor(protozero::pbf_writer& to, protozero::pbf_tag_type tag, std::string_view name,
                std::string_view datatype, const api::Sizes& sizes, F more) {
  protozero::pbf_writer tensor(to, tag);
  tensor.add_string(1, name.data(), name.size());
  tensor.add_string(2, datatype.data(), datatype.size());
  tensor.add_packed_int64(3, sizes.begin(), sizes.end());
  more(tensor);
}

inline void add_tensor(protozero::pbf_writer& to, protozero::pbf_tag_type tag, std::string_view name,
                       std::string_view datatype, const api::Sizes& sizes) {
  add_tensor(to, tag, name, datatype, sizes, [](protozero::pbf_writer&) {});
}

}  // namespace frazil::server::proto
