#include "govern/sign/secret_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "govern/base/error.h"
#include "govern/base/file.h"
#include "govern/sign/folder.h"

namespace frazil::govern {

bool create_secret_file(const std::string& path, std::span<const std::uint8_t> bytes) {
  const std::string temporary = fmt::format("{}.{}.new", path, ::getpid());
  ::unlink(temporary.c_str());
  const File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written = file && ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                       ::fsync(file.get()) == 0;
  // A link fails if the name is taken; a rename would replace the file.
  const bool linked = written && ::link(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(temporary.c_str());
  if (!linked && written && error == EEXIST) return false;
  if (!linked) fail(Code::bad_input, "file '{}': {}", path, std::generic_category().message(error));
  sync_folder(place_of_file(path).folder);
  return true;
}

}  // namespace frazil::govern
