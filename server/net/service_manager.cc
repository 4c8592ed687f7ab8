#include "server/net/service_manager.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include <sys/socket.h>
#include <sys/un.h>

#include "server/core/file_descriptor.h"

namespace frazil::server {
namespace {

/// Returns 0 or an error number.
int send_to(const std::string& path, const std::string& text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  path.copy(address.sun_path, path.size());
  if (path.starts_with('@')) address.sun_path[0] = 0;  // an abstract name
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const ssize_t sent =
      ::sendto(socket.get(), text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
  return sent < 0 ? errno : 0;
}

}  // namespace

void notify_service_manager(const std::string& state, const NoticeSink& notify) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == 0) return;
  if (const int error = send_to(path, state); error != 0) {
    warn(notify, "server",
         "NOTIFY_SOCKET " + std::string(path) + ": cannot send " + state + ": " + text_of_errno(error));
  }
}

}  // namespace frazil::server
