// The export of spans: where it posts to, and what it refuses.
#include "server/service/otlp.h"

#include <gmock/gmock.h>

#include "server/other_server.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using server::Otlp;
using testing::HasSubstr;

/// The head of the request that exports a record to a collector.
std::string head_for(const OtherServer& collector, std::string& seen, const std::string& place) {
  seen.clear();
  Otlp otlp(place);
  otlp.send(std::make_shared<server::RequestRecord>());
  RunningServer::wait_until([&] { return collector.answers > 0; });
  return seen;
}

TEST(OtlpExport, PostsToHostsAndUrls) {
  const struct {
    std::string before, after, line, header;
  } cases[] = {{"", "", "POST /v1/traces HTTP/1.1\r\n", "Content-Type: application/json"},
               {"http://", "/", "POST /v1/traces HTTP/1.1\r\n", "Content-Type: application/json"},
               {"http://u:p@", "", "POST /v1/traces HTTP/1.1\r\n", "Authorization: Basic dTpw"},
               {"http://", "/custom?x=1", "POST /custom?x=1 HTTP/1.1\r\n", "Content-Type: application/json"}};
  for (const auto& c : cases) {
    std::string seen;
    const OtherServer collector([&](const std::string& request) {
      seen = request;
      return answered("{}");
    });
    const std::string head = head_for(collector, seen, c.before + collector.address() + c.after);
    EXPECT_THAT(head, testing::StartsWith(c.line)) << c.before << c.after;
    EXPECT_THAT(head, HasSubstr(c.header)) << c.before << c.after;
  }
}

TEST(OtlpExport, RefusesOtherPlaces) {
  const struct {
    const char *place, *ca, *why;
  } cases[] = {{"h", "", "paths.otlp: expected HOST:PORT"},
               {"ftp://u:secret@h:1", "", "paths.otlp: expected http://HOST:PORT/PATH or https://HOST:PORT/PATH"},
               {"https://h:1", "/none", "paths.otlp_tls.ca /none: No such file or directory"}};
  for (const auto& c : cases) {
    try {
      const Otlp otlp(c.place, {.ca = c.ca});
      ADD_FAILURE() << c.place;
    } catch (const api::Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(c.why));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("secret")));
    }
  }
}

}  // namespace
}  // namespace frazil::test
