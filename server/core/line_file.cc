#include "server/core/line_file.h"

#include <cerrno>

#include <fcntl.h>
#include <frazil/error.h>
#include <unistd.h>

namespace frazil::server {
namespace {

constexpr std::size_t kMaxLines = 10'000;
constexpr std::chrono::milliseconds kGather{20};

int open_file(const std::string& file) {
  constexpr mode_t kMode = 0640;
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
}

FileDescriptor open_lines(const std::string& path, const std::string& option) {
  FileDescriptor file(path == "-" ? ::dup(STDOUT_FILENO) : open_file(path));
  if (!file) throw api::Error(api::Code::bad_input, option + " " + path + ": " + text_of_errno(errno));
  return file;
}

}  // namespace

LineFile::LineFile(const std::string& path, const std::string& option, std::chrono::milliseconds sync)
    : path_(path),
      syncs_(sync.count() > 0),
      file_(open_lines(path, option)),
      log_(file_.get(), {.max_waiting = kMaxLines, .gather = kGather, .sync = sync, .reports_drops = false}) {}

bool LineFile::reopen() {
  if (path_ == "-") return true;
  const FileDescriptor next(open_file(path_)), old(::dup(file_.get()));
  if (!next || ::dup2(next.get(), file_.get()) < 0) return false;  // replaces the file under the thread that writes
  if (syncs_ && old) ::fdatasync(old.get());
  return true;
}

}  // namespace frazil::server
