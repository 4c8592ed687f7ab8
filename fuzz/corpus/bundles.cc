#include "corpus.h"

namespace frazil::fuzz {
namespace {

constexpr const char* kStatement =
    R"({"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"m","digest":{"sha256":"0"}}],)"
    R"("predicateType":"https://model_signing/signature/v1.0","predicate":{"resources":[{"name":"a","digest":"0",)"
    R"("algorithm":"sha256"}],"serialization":{"method":"files","hash_type":"sha256","allow_symlinks":false,)"
    R"("ignore_paths":[".git"]}}})";
constexpr const char* kBundle =
    R"({"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"0"}},)"
    R"("dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AA==",)"
    R"("keyid":""}]}})";
constexpr const char* kEnvelope =
    R"({"operators":[{"domain":"","name":"Add","opset":[1,21]}],"models":[{"name":"m","digest":null}],)"
    R"("endpoints":[{"kind":"http","host":"a","path":null}],"code":["sha256:0"],"extents":{"n":4},"worst_cost_ns":1,)"
    R"("worst_memory_bytes":1,"max_steps":null,"influence":{"*":["clock"]}})";
constexpr const char* kReport =
    R"({"operators":[{"domain":"","name":"Add","opset":13,"count":1}],"models":[{"name":"m","digest":null}],)"
    R"("endpoints":[{"kind":"http","host":"a","path":"/"}],"code":[],"extents":{"n":null},"worst_cost_ns":null,)"
    R"("worst_memory_bytes":1,"max_steps":5,"influence":{"r":["clock"]}})";
constexpr const char* kApproval =
    R"({"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"m","digest":{"sha256":"0"}}],)"
    R"("predicateType":"https://frazil.dev/approval/v1","predicate":{"parent":"","files":{"a":"sha256:0"},"report":"",)"
    R"("envelope":"","policy":"","environment":"e","approver":"p","role":"r","issued":"1970-01-01T00:00:00Z",)"
    R"("not_after":"1970-01-01T00:00:00Z"}})";
constexpr const char* kDocument =
    R"({"payload":"e30=","payloadType":"application/vnd.frazil.policy+json","signatures":[{"sig":"AA=="}]})";

}  // namespace

Seeds bundle_seeds(const Seeds& models) {
  const char* const texts[] = {kBundle, kStatement, kEnvelope, kReport, kApproval, kDocument};
  Seeds seeds;
  char kind = 0;
  for (const char* text : texts) {
    seeds["text_" + std::to_string(kind)] = std::string(1, kind) + text;
    ++kind;
  }
  for (const auto& [name, bytes] : models) seeds["model_" + name] = std::string(1, kind) + bytes;
  return seeds;
}

}  // namespace frazil::fuzz
