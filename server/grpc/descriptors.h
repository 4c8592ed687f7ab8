#pragma once

#include <span>
#include <string>
#include <string_view>

// The protocols of the gRPC port as data: files of messages and services, from which descriptors for reflection are
// built. Field numbers agree with grpc_message.cc; a test compares them.
namespace frazil::server::proto {

/// A message. `fields` is a list "NAME:NUMBER:TYPE" separated by spaces. The prefix '*' marks a repeated field, '%' a
/// map from strings to TYPE, and '?' a member of the message's oneof "choice". A type is a scalar of the language, an
/// enumeration with the prefix '#', or a message of the same file.
struct MessageRow {
  std::string_view name;  ///< "Outer.Inner" for a nested message, after its outer message
  std::string_view fields = {};
};
struct MethodRow {
  std::string_view name, request, response;
  bool client_streams = false, server_streams = false;
};
struct ServiceRow {
  std::string_view name;
  std::span<const MethodRow> methods;
};
/// An enumeration. `values` is a list "NAME:NUMBER" separated by spaces.
struct EnumRow {
  std::string_view name;  ///< "Outer.Inner" for an enumeration of a message
  std::string_view values;
};
struct ProtoFile {
  std::string_view name, package;
  std::span<const MessageRow> messages;
  std::span<const EnumRow> enums;
  std::span<const ServiceRow> services;
};

std::span<const ProtoFile> proto_files();

/// Returns a FileDescriptorProto.
std::string descriptor_of(const ProtoFile& file);
/// Returns the file that declares a message, an enumeration, a service or a method by its full name; null if none does.
const ProtoFile* file_of_symbol(std::string_view symbol);

}  // namespace frazil::server::proto
