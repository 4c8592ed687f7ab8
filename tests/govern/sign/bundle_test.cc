#include "govern/sign/bundle.h"

#include <functional>
#include <random>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "govern/base/digest.h"
#include "govern/base/encoding.h"
#include "govern/sign/dsse.h"
#include "sign_testing.h"

namespace frazil::govern::sign_test::of_bundle {
namespace {

const SigningKey& signer() { return key_named("signer"); }

VerifiedFolder verify(const TemporaryFolder& folder, const std::string& bundle,
                      const std::vector<PublicKey>& keys = {signer().public_key()}) {
  return verify_folder(folder.path(), bundle, "bundle", keys, {.bundle_path = folder.path(kBundleName)});
}

std::string sign(const TemporaryFolder& folder, const SigningKey& key = signer()) {
  return sign_folder(folder.path(), key, folder.path(kBundleName));
}

void write_model(const TemporaryFolder& folder) {
  folder.write("model.onnx", "a graph");
  folder.write("weights/w.bin", std::string(100'000, 'w'));
  folder.write("config.pbtxt", "");
}

/// Returns a bundle whose statement was changed and signed again by the trusted key: what a careless signer makes.
std::string resigned(const std::string& bundle, const std::function<void(Json& statement)>& change) {
  Json json = parse_json(bundle, "bundle");
  Envelope envelope = envelope_from(json["dsseEnvelope"], "bundle");
  Json statement = parse_json(envelope.payload, "statement");
  change(statement);
  std::string digests;
  for (const Json& resource : statement["predicate"]["resources"]) {
    digests += from_hex(resource.value("digest", "")).value_or("");
  }
  statement["subject"][0]["digest"]["sha256"] = hex(sha256(digests));
  envelope.payload = canonical(statement);
  envelope.signatures.clear();
  add_signature(envelope, signer());
  json["dsseEnvelope"] = json_of(envelope);
  return canonical(json);
}

TEST(Bundles, EachCurveSignsAFolder) {
  TemporaryFolder folder;
  write_model(folder);
  for (const KeyKind kind : {KeyKind::ecdsa_p256, KeyKind::ecdsa_p384, KeyKind::ecdsa_p521}) {
    const SigningKey& key = key_named("curve", kind);
    const VerifiedFolder verified = verify(folder, sign(folder, key), {signer().public_key(), key.public_key()});
    ASSERT_TRUE(verified.accepted()) << verified.violations[0].text();
    EXPECT_EQ(verified.signer, 1);
    ASSERT_EQ(verified.files.size(), 3);
    const HashedFile* file = verified.find("weights/w.bin");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(file->digest, sha256(std::string(100'000, 'w')));
    EXPECT_EQ(file->state.size, 100'000);
    EXPECT_EQ(verified.find("weights"), nullptr);
  }
  EXPECT_EQ(error_of([&] { (void)sign(folder, key_named("e", KeyKind::ed25519)); }),
            "model signatures need an ECDSA key, got Ed25519: 'frazil keygen' makes one of P-256");
}

TEST(Bundles, HaveTheFormOfTheSpecification) {
  TemporaryFolder folder;
  folder.write("b", "2");
  folder.write("a", "1");
  folder.write("A/c", "3");
  folder.write(".git/HEAD", "not signed");
  folder.write(kBundleName, "an older bundle");
  const Json bundle = parse_json(sign(folder), "bundle");
  EXPECT_EQ(bundle["mediaType"], "application/vnd.dev.sigstore.bundle.v0.3+json");
  EXPECT_EQ(bundle["verificationMaterial"]["publicKey"]["hint"], signer().public_key().id());
  EXPECT_EQ(bundle["dsseEnvelope"]["payloadType"], "application/vnd.in-toto+json");
  const Json statement = parse_json(envelope_from(bundle["dsseEnvelope"], "bundle").payload, "statement");
  const auto resource = [](const char* name, const char* content) {
    return Json{{"name", name}, {"algorithm", "sha256"}, {"digest", hex(sha256(std::string_view(content)))}};
  };
  EXPECT_EQ(statement["predicate"]["resources"], (Json{resource("A/c", "3"), resource("a", "1"), resource("b", "2")}));
  EXPECT_EQ(statement["predicate"]["serialization"],
            (Json{{"method", "files"},
                  {"hash_type", "sha256"},
                  {"allow_symlinks", false},
                  {"ignore_paths", {".git", ".gitattributes", ".github", ".gitignore", "model.sig"}}}));
  std::string digests;
  for (const char* content : {"3", "1", "2"}) digests += text_of(sha256(std::string_view(content)));
  EXPECT_EQ(statement["subject"][0]["digest"]["sha256"], hex(sha256(digests)));
  EXPECT_EQ(statement["predicateType"], "https://model_signing/signature/v1.0");
}

TEST(Bundles, OneFileIsSignedByItsName) {
  TemporaryFolder folder;
  folder.write("m.onnx", "a graph");
  folder.write("other", "not signed");
  const std::string path = folder.path("m.onnx"), to = default_bundle_path(path);
  EXPECT_EQ(to, path + ".sig");
  const std::string bundle = sign_folder(path, signer(), to);
  const std::vector<PublicKey> keys = {signer().public_key()};
  EXPECT_TRUE(verify_folder(path, bundle, "bundle", keys, {.bundle_path = to}).accepted());
  folder.write("n.onnx", "a graph");
  EXPECT_EQ(texts_of(verify_folder(folder.path("n.onnx"), bundle, "bundle", keys).violations),
            (std::vector<std::string>{"file 'n.onnx': it is not signed [unsigned file]",
                                      "file 'm.onnx': it is signed, but it does not exist [missing file]"}));
}

TEST(Bundles, EachChangeOfAFolderIsAViolation) {
  struct Case {
    const char* name;
    std::function<void(const TemporaryFolder&)> change;
    std::vector<std::string> expected;
  };
  namespace fs = std::filesystem;
  const std::vector<Case> cases = {
      {"nothing", [](const auto&) {}, {}},
      {"one bit",
       [](const auto& f) { f.write("model.onnx", "a grapi"); },
       {"file 'model.onnx': it differs from the signed one [changed file]"}},
      {"a longer file",
       [](const auto& f) { f.write("config.pbtxt", "\n"); },
       {"file 'config.pbtxt': it differs from the signed one [changed file]"}},
      {"a removed file",
       [](const auto& f) { fs::remove(f.path("config.pbtxt")); },
       {"file 'config.pbtxt': it is signed, but it does not exist [missing file]"}},
      {"another file",
       [](const auto& f) { f.write("extra.frzc", "code"); },
       {"file 'extra.frzc': it is not signed [unsigned file]"}},
      {"another file in a folder",
       [](const auto& f) { f.write("weights/deep/er", ""); },
       {"file 'weights/deep/er': it is not signed [unsigned file]"}},
      {"a hidden file",
       [](const auto& f) { f.write(".hidden", ""); },
       {"file '.hidden': it is not signed [unsigned file]"}},
      {"files of git at the top", [](const auto& f) { f.write(".git/config", "x"); }, {}},
      {"files of git below",
       [](const auto& f) { f.write("weights/.git/config", "x"); },
       {"file 'weights/.git/config': it is not signed [unsigned file]"}},
      {"renamed",
       [](const auto& f) { fs::rename(f.path("model.onnx"), f.path("Model.onnx")); },
       {"file 'Model.onnx': it is not signed [unsigned file]",
        "file 'model.onnx': it is signed, but it does not exist [missing file]"}},
      {"exchanged",
       [](const auto& f) {
         fs::rename(f.path("model.onnx"), f.path("t"));
         fs::rename(f.path("config.pbtxt"), f.path("model.onnx"));
         fs::rename(f.path("t"), f.path("config.pbtxt"));
       },
       {"file 'config.pbtxt': it differs from the signed one [changed file]",
        "file 'model.onnx': it differs from the signed one [changed file]"}},
      {"a symbolic link",
       [](const auto& f) {
         fs::rename(f.path("model.onnx"), f.path("weights/m"));
         fs::create_symlink("weights/m", f.path("model.onnx"));
       },
       {"file 'model.onnx': it is a link or not a regular file [special file]",
        "file 'weights/m': it is not signed [unsigned file]",
        "file 'model.onnx': it is signed, but it does not exist [missing file]"}},
      {"a link to a folder",
       [](const auto& f) { fs::create_symlink("/", f.path("root")); },
       {"file 'root': it is a link or not a regular file [special file]"}},
      {"a hard link",
       [](const auto& f) { fs::create_hard_link(f.path("model.onnx"), f.path(".git")); },
       {"file 'model.onnx': it has 2 hard links, so that it may belong outside the folder; replace it by a copy "
        "[unreadable file]"}},
      {"a pipe",
       [](const auto& f) { ASSERT_EQ(::mkfifo(f.path("pipe").c_str(), 0600), 0); },
       {"file 'pipe': it is a link or not a regular file [special file]"}},
      {"a folder instead of a file",
       [](const auto& f) {
         fs::remove(f.path("model.onnx"));
         fs::create_directory(f.path("model.onnx"));
       },
       {"file 'model.onnx': it is signed, but it does not exist [missing file]"}},
  };
  for (const Case& one : cases) {
    TemporaryFolder folder;
    write_model(folder);
    const std::string bundle = sign(folder);
    one.change(folder);
    const VerifiedFolder verified = verify(folder, bundle);
    EXPECT_EQ(texts_of(verified.violations), one.expected) << one.name;
    EXPECT_EQ(verified.files.empty(), !one.expected.empty()) << one.name;
  }
}

TEST(Bundles, NamesAreComparedByBytes) {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {"model.onnx", "MODEL.ONNX"},
      {"caf\xc3\xa9.onnx", "cafe\xcc\x81.onnx"},  // é as one and as two code points
      {"\xef\xac\x81.onnx", "fi.onnx"},           // a ligature
      {"a.onnx", "\xd0\xb0.onnx"},                // a Cyrillic letter
  };
  for (const auto& [signed_name, other] : pairs) {
    TemporaryFolder folder;
    folder.write(signed_name, "a graph");
    const std::string bundle = sign(folder);
    std::filesystem::rename(folder.path(signed_name), folder.path(other));
    EXPECT_FALSE(verify(folder, bundle).accepted()) << other;
    folder.write(signed_name, "a graph");
    EXPECT_EQ(verify(folder, bundle).violations.size(), 1) << other;
    EXPECT_TRUE(verify(folder, sign(folder)).accepted()) << other;
  }
}

TEST(Bundles, ANameThatIsNotUtf8IsNotSigned) {
  TemporaryFolder folder;
  folder.write("m\xff", "");
  EXPECT_EQ(error_of([&] { (void)sign(folder); }),
            "file 'm\\xff': its name is not UTF-8, so that it cannot be signed: rename it");
}

TEST(Bundles, AFolderWithoutFilesIsNeitherSignedNorVerified) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("weights"));
  EXPECT_EQ(error_of([&] { (void)sign(folder); }), "folder '" + folder.path() + "': there is no file to sign");
  folder.write("a", "1");
  const std::string empty = resigned(sign(folder), [](Json& s) { s["predicate"]["resources"] = Json::array(); });
  std::filesystem::remove(folder.path("a"));
  EXPECT_EQ(texts_of(verify(folder, empty).violations),
            std::vector<std::string>{"bundle: 'resources': expected a list of at least one file [bundle]"});
}

TEST(Bundles, ASignedStatementMustBeSound) {
  const auto resources = [](Json& s) -> Json& { return s["predicate"]["resources"]; };
  const auto serialization = [](Json& s) -> Json& { return s["predicate"]["serialization"]; };
  struct Case {
    std::function<void(Json&)> change;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {[&](Json& s) { resources(s)[0]["name"] = "../outside"; },
       "bundle: signed file '../outside': the name has the part '..' [bundle]"},
      {[&](Json& s) { resources(s)[0]["name"] = "weights/../../outside"; },
       "bundle: signed file 'weights/../../outside': the name has the part '..' [bundle]"},
      {[&](Json& s) { resources(s)[0]["name"] = "/etc/passwd"; },
       "bundle: signed file '/etc/passwd': the name is absolute, expected one relative to the folder [bundle]"},
      {[&](Json& s) { resources(s)[0]["name"] = "./a"; },
       "bundle: signed file './a': the name has an empty part or the part '.' [bundle]"},
      {[&](Json& s) { resources(s)[0]["name"] = "a/"; },
       "bundle: signed file 'a/': the name has an empty part or the part '.' [bundle]"},
      {[&](Json& s) { resources(s)[0]["name"] = std::string("a\0b", 3); },
       "bundle: signed file 'a\\x00b': the name has a zero byte [bundle]"},
      {[&](Json& s) { resources(s)[0]["name"] = ""; }, "bundle: signed file '': the name is empty [bundle]"},
      {[&](Json& s) { resources(s).push_back(resources(s)[0]); },
       "bundle: signed file 'a': it is listed twice [bundle]"},
      {[&](Json& s) { resources(s)[0]["digest"] = "AB"; },
       "bundle: signed file 'a': expected a digest of 64 hexadecimal digits [bundle]"},
      {[&](Json& s) { resources(s)[0]["algorithm"] = "blake2b"; },
       "bundle: signed file 'a': expected the digest algorithm 'sha256', got 'blake2b' [bundle]"},
      {[&](Json& s) { resources(s)[0].erase("digest"); }, "bundle: 'digest' is missing [bundle]"},
      {[&](Json& s) { serialization(s)["method"] = "file-shard-1048576"; },
       "bundle: expected the serialization 'files' with 'sha256', got 'file-shard-1048576' with 'sha256'; sign again "
       "so [bundle]"},
      {[&](Json& s) { serialization(s)["allow_symlinks"] = true; },
       "bundle: it follows symbolic links; replace them by copies, and sign again [bundle]"},
      {[&](Json& s) { serialization(s)["ignore_paths"] = {"*.bin"}; },
       "bundle: 'ignore_paths': expected paths below the folder without patterns, got \"*.bin\" [bundle]"},
      {[&](Json& s) { serialization(s)["ignore_paths"] = {"../x"}; },
       "bundle: 'ignore_paths': expected paths below the folder without patterns, got \"../x\" [bundle]"},
      {[&](Json& s) { serialization(s)["ignore_paths"] = {"."}; },
       "bundle: 'ignore_paths': expected paths below the folder without patterns, got \".\" [bundle]"},
      {[](Json& s) { s["predicateType"] = "https://model_signing/Digests/v0.1"; },
       "bundle: 'predicateType': expected 'https://model_signing/signature/v1.0', got "
       "'https://model_signing/Digests/v0.1' [bundle]"},
      {[](Json& s) { s["_type"] = "https://in-toto.io/Statement/v0.1"; },
       "bundle: '_type': expected 'https://in-toto.io/Statement/v1', got 'https://in-toto.io/Statement/v0.1' [bundle]"},
      {[](Json& s) { s["subject"].push_back(s["subject"][0]); },
       "bundle: 'subject': expected one, with the digest of the signed files' digests [bundle]"},
  };
  TemporaryFolder outer;
  outer.write("outside", "secret");
  outer.write("model/a", "1");
  for (const Case& one : cases) {
    const std::string path = outer.path("model");
    const std::string bundle = resigned(sign_folder(path, signer(), ""), one.change);
    const std::vector<PublicKey> keys = {signer().public_key()};
    EXPECT_EQ(texts_of(verify_folder(path, bundle, "bundle", keys).violations), std::vector<std::string>{one.expected});
  }
}

TEST(Bundles, FieldsThatTheSpecificationLeavesOpenAreAccepted) {
  TemporaryFolder folder;
  folder.write("a", "1");
  const std::string bundle = sign(folder);
  const std::vector<std::function<void(Json&)>> changes = {
      [](Json& b) { b["verificationMaterial"]["publicKey"] = {{"rawBytes", "AAAA"}}; },
      [](Json& b) { b["verificationMaterial"]["publicKey"]["hint"] = "of another key"; },
      [](Json& b) { b["verificationMaterial"]["tlogEntries"] = Json::array(); },
      [](Json& b) { b["dsseEnvelope"]["signatures"][0]["keyid"] = Json(); },
      [](Json& b) { b["dsseEnvelope"]["signatures"][0].erase("keyid"); },
  };
  for (const auto& change : changes) {
    Json changed = parse_json(bundle, "bundle");
    change(changed);
    EXPECT_TRUE(verify(folder, canonical(changed)).accepted()) << changed;
  }
  const std::string older = resigned(bundle, [](Json& s) {
    s["predicate"]["serialization"].erase("ignore_paths");
    s["subject"][0]["name"] = "model";
    s["predicate"]["resources"][0]["annotations"] = Json::object();
  });
  EXPECT_TRUE(verify(folder, older).accepted());
}

TEST(Bundles, OtherMethodsAndEnvelopesAreRefused) {
  TemporaryFolder folder;
  folder.write("a", "1");
  const std::string bundle = sign(folder);
  struct Case {
    std::function<void(Json&)> change;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {[](Json& b) { b["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.2"; },
       "bundle: 'mediaType': expected 'application/vnd.dev.sigstore.bundle.v0.3+json', got "
       "'application/vnd.dev.sigstore.bundle+json;version=0.2' [bundle]"},
      {[](Json& b) { b["verificationMaterial"] = {{"certificate", {{"rawBytes", ""}}}}; },
       "bundle: 'publicKey' is missing [bundle]"},
      {[](Json& b) { b["verificationMaterial"]["certificate"] = Json::object(); },
       "bundle: 'verificationMaterial': expected a public key, not certificates [bundle]"},
      {[](Json& b) { b["dsseEnvelope"]["signatures"] = Json::array(); },
       "bundle: 'signatures': expected one, got 0 [bundle]"},
      {[](Json& b) { b["dsseEnvelope"]["signatures"].push_back(b["dsseEnvelope"]["signatures"][0]); },
       "bundle: 'signatures': expected one, got 2 [bundle]"},
      {[](Json& b) { b["dsseEnvelope"]["payloadType"] = "text/plain"; },
       "bundle: its payload type is 'text/plain', expected 'application/vnd.in-toto+json' [signature]"},
      {[](Json& b) { b.erase("dsseEnvelope"); }, "bundle: 'dsseEnvelope' is missing [bundle]"},
  };
  for (const Case& one : cases) {
    Json changed = parse_json(bundle, "bundle");
    one.change(changed);
    EXPECT_EQ(texts_of(verify(folder, canonical(changed)).violations), std::vector<std::string>{one.expected});
  }
  EXPECT_EQ(texts_of(verify(folder, bundle, {key_named("stranger").public_key()}).violations),
            std::vector<std::string>{
                "bundle: it has valid signatures of 0 of the 1 trusted keys, expected at least 1 [signature]"});
  EXPECT_EQ(texts_of(verify(folder, "").violations),
            std::vector<std::string>{"bundle: expected JSON; byte 1 is wrong [bundle]"});
}

/// The ignored paths of one bundle do not apply to another one in the same process.
TEST(Bundles, IgnoredPathsBelongToOneBundle) {
  TemporaryFolder first, second;
  for (const TemporaryFolder* folder : {&first, &second}) folder->write("a", "1");
  const std::string lax =
      resigned(sign(first), [](Json& s) { s["predicate"]["serialization"]["ignore_paths"] = {"extra", "model.sig"}; });
  const std::string strict = sign(second);
  for (const TemporaryFolder* folder : {&first, &second}) folder->write("extra/code.frzc", "x");
  const VerifiedFolder verified = verify(first, lax);
  EXPECT_TRUE(verified.accepted());
  EXPECT_EQ(verified.find("extra/code.frzc"), nullptr);
  EXPECT_EQ(texts_of(verify(second, strict).violations),
            std::vector<std::string>{"file 'extra/code.frzc': it is not signed [unsigned file]"});
}

/// The open file is the verified one, also if another file takes its name.
TEST(Bundles, WhatWasVerifiedStaysOpen) {
  TemporaryFolder folder;
  write_model(folder);
  const VerifiedFolder verified = verify(folder, sign(folder));
  const HashedFile* model = verified.find("model.onnx");
  ASSERT_NE(model, nullptr);
  std::filesystem::rename(folder.path("model.onnx"), folder.path("aside"));
  folder.write("model.onnx", "another");
  char bytes[16] = {};
  ASSERT_EQ(::pread(model->file.get(), bytes, sizeof bytes, 0), 7);
  EXPECT_STREQ(bytes, "a graph");
}

TEST(Bundles, AFileThatIsWrittenAfterwardsIsDetected) {
  TemporaryFolder folder;
  write_model(folder);
  const VerifiedFolder verified = verify(folder, sign(folder));
  const HashedFile* model = verified.find("model.onnx");
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->is_unchanged());
  struct stat before = {};
  ASSERT_EQ(::stat(folder.path("model.onnx").c_str(), &before), 0);
  std::ofstream(folder.path("model.onnx"), std::ios::in | std::ios::out | std::ios::binary) << "A graph";
  const timespec times[2] = {before.st_atim, before.st_mtim};  // the writer hides the time of the change
  ASSERT_EQ(::utimensat(AT_FDCWD, folder.path("model.onnx").c_str(), times, 0), 0);
  EXPECT_FALSE(model->is_unchanged());
}

/// Returns the bundle with one to four bytes changed, removed, doubled or copied from elsewhere.
std::string mutated(const std::string& bundle, std::mt19937& random) {
  std::string text = bundle;
  for (std::size_t count = random() % 4 + 1; count > 0 && !text.empty(); --count) {
    const std::size_t at = random() % text.size();
    switch (random() % 5) {
      case 0: text[at] = static_cast<char>(text[at] ^ (1 << random() % 8)); break;
      case 1: text[at] = bundle[random() % bundle.size()]; break;
      case 2: text.erase(at, random() % 8 + 1); break;
      case 3: text.insert(at, bundle.substr(random() % bundle.size(), random() % 8 + 1)); break;
      default: text[at] = static_cast<char>(random());
    }
  }
  return text;
}

/// A mutant may be accepted only if the signed bytes, their type and the signature's bytes are those of the original:
/// then only what is not signed differs, such as spaces, the hint or a member that verifiers ignore.
TEST(Bundles, NoMutantIsAcceptedThatChangesWhatIsSigned) {
  TemporaryFolder folder;
  write_model(folder);
  const std::string bundle = sign(folder);
  const Envelope original = envelope_from(parse_json(bundle, "bundle")["dsseEnvelope"], "bundle");
  const std::vector<PublicKey> keys = {signer().public_key()};
  std::mt19937 random(20261128);
  int accepted = 0, differ = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string mutant = mutated(bundle, random);
    if (mutant == bundle) continue;
    ++differ;
    if (!verify_folder(folder.path(), mutant, "bundle", keys, {.bundle_path = "", .keep_open = false}).accepted()) {
      continue;
    }
    ++accepted;
    const Envelope envelope = envelope_from(parse_json(mutant, "mutant")["dsseEnvelope"], "mutant");
    EXPECT_EQ(envelope.payload, original.payload);
    EXPECT_EQ(envelope.payload_type, original.payload_type);
    EXPECT_EQ(envelope.signatures.at(0).bytes, original.signatures.at(0).bytes);
  }
  EXPECT_GT(differ, 9'900);
  EXPECT_GT(accepted, 0);  // the hint is not signed
  EXPECT_LT(accepted, 2'000);
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_bundle
