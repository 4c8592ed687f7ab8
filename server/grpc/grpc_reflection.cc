#include "server/grpc/grpc_reflection.h"

#include <algorithm>

#include <protozero/pbf_writer.hpp>

#include "server/grpc/descriptors.h"
#include "server/grpc/grpc.h"
#include "server/grpc/grpc_fields.h"

namespace frazil::server::proto {
namespace {

using protozero::pbf_writer;

// Fields of ServerReflectionRequest and ServerReflectionResponse.
constexpr Tag kByName = 3, kBySymbol = 4, kByExtension = 5, kExtensionNumbers = 6, kListServices = 7;
constexpr Tag kFileResponse = 4, kServicesResponse = 6, kErrorResponse = 7;

struct Asked {
  Tag kind = 0;  ///< 0: nothing
  std::string_view name;
};

Asked read_asked(std::string_view bytes) {
  Fields fields(bytes, "ServerReflectionRequest");
  Asked asked;
  while (fields.next()) {
    const Tag tag = fields.tag();
    if (tag < kByName || tag > kListServices) {
      fields.skip();
      continue;
    }
    asked = {.kind = tag,
             .name = tag == kByExtension ? fields.bytes("file_containing_extension") : fields.text("name")};
  }
  return asked;
}

void add_error(pbf_writer& to, GrpcCode code, const std::string& text) {
  pbf_writer error(to, kErrorResponse);
  error.add_int32(1, static_cast<std::int32_t>(code));
  error.add_string(2, text);
}

void add_file(pbf_writer& to, const ProtoFile* file, const std::string& what) {
  if (file == nullptr) return add_error(to, GrpcCode::not_found, "there is no " + what);
  pbf_writer(to, kFileResponse).add_bytes(1, descriptor_of(*file));
}

void add_services(pbf_writer& to) {
  pbf_writer list(to, kServicesResponse);
  for (const ProtoFile& file : proto_files()) {
    for (const ServiceRow& service : file.services) {
      pbf_writer(list, 1).add_string(1, std::string(file.package) + "." + std::string(service.name));
    }
  }
}

const ProtoFile* file_named(std::string_view name) {
  const auto files = proto_files();
  const auto at = std::ranges::find(files, name, &ProtoFile::name);
  return at == files.end() ? nullptr : &*at;
}

}  // namespace

std::string reflection_response(std::string_view request) {
  const Asked asked = read_asked(request);
  const std::string name(asked.name);
  std::string bytes;
  pbf_writer to(bytes);
  to.add_bytes(2, request.data(), request.size());
  switch (asked.kind) {
    case kListServices: add_services(to); break;
    case kByName: add_file(to, file_named(name), "file '" + name + "'"); break;
    case kBySymbol: add_file(to, file_of_symbol(name), "symbol '" + name + "'"); break;
    case kByExtension:
    case kExtensionNumbers: add_error(to, GrpcCode::not_found, "there are no extensions"); break;
    default: add_error(to, GrpcCode::invalid_argument, "the request asks for nothing"); break;
  }
  return bytes;
}

}  // namespace frazil::server::proto
