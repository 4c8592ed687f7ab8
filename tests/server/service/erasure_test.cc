// POST /v2/governance/erase.
#include <gmock/gmock.h>

#include "govern/audit/audit_log.h"
#include "govern/audit/log_reader.h"
#include "govern/audit/subject_keys.h"
#include "server/folder.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Reply;
using testing::HasSubstr;

class ErasureRequest : public testing::Test {
 protected:
  ErasureRequest() {
    folder_.add("double", kDouble);
    options_ = options_of(folder_);
    options_.config.tenants = {{.name = "ops", .keys = {"ops-key"}, .admin = true},
                               {.name = "shop", .keys = {"shop-key"}}};
    options_.audit = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = files_ / "log",
                             .origin = "example.org/erasure",
                             .key = govern::SigningKey::generate(govern::KeyKind::ed25519)});
    options_.subject_keys = std::make_shared<govern::SubjectKeys>(files_ / "keys");
  }
  Reply erase(const std::string& body, const std::string& key = "ops-key") {
    if (!service_) service_.emplace(options_);
    const std::string authorization = key.empty() ? "" : "Bearer " + key;
    return reply_to(*service_,
                    {.method = "POST", .path = "/v2/governance/erase", .body = body, .authorization = authorization});
  }

  Folder folder_;
  TempFolder files_;
  server::ServiceOptions options_;
  std::optional<server::Service> service_;
};

TEST_F(ErasureRequest, ErasesASubject) {
  const std::string id = options_.subject_keys->id_of("alice");
  EXPECT_EQ(erase(R"({"subject":"alice"})").body, R"({"subject":")" + id + R"(","event":1,"blobs":0})");
  EXPECT_EQ(options_.subject_keys->find_id("alice"), std::nullopt);
  options_.audit->publish_checkpoint();
  std::vector<std::string> entries;
  govern::read_log(files_ / "log", {.kinds = {"erase"}},
                   [&](std::uint64_t, const std::string& entry) { entries.push_back(entry); });
  EXPECT_THAT(entries, testing::ElementsAre(HasSubstr(R"("actor":"ops")")));
}

TEST_F(ErasureRequest, IsRefused) {
  const struct {
    const char *body, *key;
    Http status;
    const char* why;
  } cases[] = {
      {R"({"subject":"alice"})", "shop-key", Http::forbidden, "tenant 'shop' is not an administrator"},
      {R"({"subject":"alice"})", "", Http::unauthorized, "no known key"},
      {R"({"subject":"nobody"})", "ops-key", Http::bad_request, "the subject has no key"},
      {R"({"subject":"alice"})", "ops-key", Http::bad_request, "the subject is held by event 0"},
      {R"({"subject":""})", "ops-key", Http::bad_request, "expected a text that is not empty"},
      {"{}", "ops-key", Http::bad_request, "expected a text that is not empty"},
      {"[", "ops-key", Http::bad_request, "invalid JSON in the body"},
  };
  options_.audit->hold({.case_name = "case", .subject = options_.subject_keys->id_of("alice")});
  for (const auto& c : cases) {
    const Reply reply = erase(c.body, c.key);
    EXPECT_EQ(reply.status, c.status) << c.body;
    EXPECT_THAT(reply.body, HasSubstr(c.why)) << c.body;
  }
  EXPECT_TRUE(options_.subject_keys->find_id("alice"));
}

TEST_F(ErasureRequest, NeedsTenantsALogAndKeys) {
  options_.subject_keys = nullptr;
  EXPECT_THAT(erase(R"({"subject":"a"})").body, HasSubstr("set governance.keys"));
  service_.reset();
  options_.audit = nullptr;
  EXPECT_THAT(erase(R"({"subject":"a"})").body, HasSubstr("start the server with --audit"));
  service_.reset();
  options_.config.tenants.clear();
  EXPECT_THAT(erase(R"({"subject":"a"})", "").body, HasSubstr("erasure is for administrators"));
}

}  // namespace
}  // namespace frazil::test
