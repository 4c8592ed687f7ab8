#pragma once

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace frazil::ort {

/// Copies the field that `from` is at, whatever it is.
inline void copy_field(protozero::pbf_reader& from, protozero::pbf_writer& to) {
  const protozero::pbf_tag_type tag = from.tag();
  switch (from.wire_type()) {
    case protozero::pbf_wire_type::varint: return to.add_uint64(tag, from.get_uint64());
    case protozero::pbf_wire_type::fixed64: return to.add_fixed64(tag, from.get_fixed64());
    case protozero::pbf_wire_type::length_delimited: return to.add_bytes(tag, from.get_view());
    case protozero::pbf_wire_type::fixed32: return to.add_fixed32(tag, from.get_fixed32());
    default: from.skip();
  }
}

}  // namespace frazil::ort
