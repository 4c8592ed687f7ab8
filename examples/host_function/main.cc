// A server with a function of its own: pipelines call it as `code: {function: levels}`; see digits.yaml.
//
//   host_function DIR [HTTP_PORT]
//
// serves the models and pipelines of DIR. Port 0, the default, is a free one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <frazil/frazil.h>

#include "server/core/log.h"
#include "server/host/host_node.h"
#include "server/server.h"

namespace {

/// Scales grey levels from 0 to 255 to the range that the model was trained on, 0 to 1.
std::vector<frazil::Array> levels(const frazil::server::HostCall& call) {
  const frazil::Array& bytes = call.inputs[0];
  frazil::Array image(frazil::Dtype::f32, bytes.sizes());
  const auto from = bytes.values<std::uint8_t>();
  const auto to = image.mutable_values<float>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]) / 255;
  return {image};
}

void serve(const std::string& folder, std::uint16_t port) {
  namespace server = frazil::server;
  server::register_host_function(
      "levels", {.inputs = {{"bytes", "u8[1,1,8,8]"}}, .outputs = {{"image", "f32[1,1,8,8]"}}}, levels);
  server::Log log(2);
  server::ServiceOptions models;
  models.folder = folder;
  models.version = "1";
  models.notify = [&log](const server::Notice& notice) { log.write(notice); };
  server::Service service(models);
  server::ServerOptions ports;
  ports.http_port = port;
  ports.grpc_port = ports.metrics_port = 0;
  server::serve(service, ports, [&](const server::Ports& open) {
    log.write_line("listening http=127.0.0.1:" + std::to_string(open.http));
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: host_function DIR [HTTP_PORT]\n");
    return 2;
  }
  try {
    serve(argv[1], argc > 2 ? static_cast<std::uint16_t>(std::atoi(argv[2])) : 0);
    return 0;
  } catch (const frazil::Error& error) {
    std::fprintf(stderr, "host_function: %s\n", error.what());
    return 2;
  }
}
