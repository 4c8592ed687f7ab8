#include <memory>

#include <fmt/format.h>

#include "govern/audit/witness.h"
#include "govern/base/file.h"
#include "tool/commands.h"
#include "tool/option_table.h"
#include "tool/page_server.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

constexpr std::uint64_t kMaxPemBytes = 64 * 1024;
constexpr std::size_t kMaxRequestBytes = govern::kMaxNoteBytes + 64 * 64;

struct WitnessOptions {
  std::string state, key, name, host = "127.0.0.1";
  std::vector<std::string> logs;  ///< ORIGIN=PEM
  std::uint16_t port = 8100;
};

std::string read_pem(const std::string& path) { return govern::read_file(path, kMaxPemBytes); }

/// Returns the key of "ORIGIN=PEM".
govern::VerifierKey log_of(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || !govern::is_key_name(text.substr(0, equals))) {
    fail(Code::bad_input, "--log {}: expected ORIGIN=PEM", text);
  }
  const std::string path = text.substr(equals + 1);
  govern::VerifierKey key{text.substr(0, equals), govern::SignatureType::ed25519,
                          govern::PublicKey::from_pem(read_pem(path), fmt::format("file '{}'", path))};
  if (key.key.kind() != govern::KeyKind::ed25519) fail(Code::bad_input, "file '{}': expected an Ed25519 key", path);
  return key;
}

int witness(const WitnessOptions& options) {
  std::vector<govern::VerifierKey> logs;
  for (const std::string& text : options.logs) logs.push_back(log_of(text));
  const auto key = govern::SigningKey::from_pem(read_pem(options.key), fmt::format("file '{}'", options.key));
  if (key.public_key().kind() != govern::KeyKind::ed25519) {
    fail(Code::bad_input, "file '{}': expected an Ed25519 key", options.key);
  }
  const std::string name = options.name.empty() ? "witness-" + key.public_key().id().substr(0, 16) : options.name;
  govern::Witness witness(options.state, name, key, std::move(logs));
  const PostService service{"/add-checkpoint", kMaxRequestBytes, [&witness](const std::string& body) {
                              govern::WitnessAnswer answer = witness.add_checkpoint(body);
                              const char* type =
                                  answer.status == 409 ? "text/x.tlog.size" : "text/plain; charset=utf-8";
                              return PostAnswer{answer.status, type, std::move(answer.body)};
                            }};
  serve_posts(service, options.host, options.port, [&](std::uint16_t port) {
    fmt::print(stderr, "witness {}\nlistening http={}:{}\n", witness.key().text(), options.host, port);
  });
  return kDone;
}

}  // namespace

void add_witness(CLI::App& app, Action& action) {
  const auto options = std::make_shared<WitnessOptions>();
  CLI::App* command = app.add_subcommand("witness", "Cosign checkpoints of audit logs (C2SP tlog-witness)");
  command->add_option("--state", options->state, "The folder that keeps the size and root of each log")
      ->required()
      ->group(group::kInputs)
      ->type_name("DIR");
  command->add_option("--key", options->key, "The witness's private key (Ed25519, PEM)")
      ->required()
      ->group(group::kInputs)
      ->type_name("PEM");
  command->add_option("--name", options->name, "The witness's name in signatures; made from the key if not given")
      ->group(group::kInputs)
      ->type_name("NAME");
  command->add_option("--log", options->logs, "The origin and public key of a log; repeat it for several")
      ->required()
      ->group(group::kInputs)
      ->type_name("ORIGIN=PEM");
  command->add_option("--host", options->host, "The address to listen at")
      ->group(group::kExecution)
      ->type_name("ADDRESS")
      ->capture_default_str();
  command->add_option("--port", options->port, "The port; 0: a free one")
      ->group(group::kExecution)
      ->type_name("P")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->footer(
      "Run it on another machine than the log, under another administrator. At start it prints its key in the form "
      "that "
      "policies use.\n"
      "\n"
      "Example:\n"
      "  frazil witness --state /var/lib/witness --key witness.pem --name example.com/w1 \\\n"
      "    --log example.com/log=log.pub.pem");
  command->callback([options, &action] { action = [options] { return witness(*options); }; });
}

}  // namespace frazil::tool
