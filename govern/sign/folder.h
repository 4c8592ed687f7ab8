#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/digest.h"
#include "govern/base/file.h"

namespace frazil::govern {

/// The properties of a file that change when it is written or replaced.
struct FileState {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;  ///< of content; of content or metadata. Nanoseconds since 1970
  bool operator==(const FileState&) const = default;
};

/// A file that was read completely. The digest is that of the bytes read through `file`.
struct HashedFile {
  std::string name;  ///< relative to the folder, with '/'
  Digest digest{};
  FileState state;
  File file;  ///< positioned anywhere; may be closed

  /// Returns true if the file was not written since it was hashed. Call it after copying the bytes from `file`: if it
  /// is true, the copy has the digest. Throws Code::bad_input if `file` is closed.
  bool is_unchanged() const;
};

/// A folder whose files are opened beneath it: no path leaves it through "..", a symbolic link, or a link of /proc.
/// Needs openat2 (Linux 5.6); without it, functions throw Code::unsupported.
class Folder {
 public:
  /// Opens a folder; symbolic links in `path` itself are followed. Throws Code::bad_input.
  explicit Folder(std::string path);

  /// An entry below the folder that is not a folder.
  struct Entry {
    std::string name;
    bool regular;  ///< false: a symbolic link, pipe, socket or device
  };
  /// Returns all entries, sorted by the bytes of their names, except those in `ignored` and below: paths from the
  /// folder. Throws Code::bad_input for a name that is not UTF-8, and Code::limit for more than 100,000 entries and
  /// more than 64 nested folders.
  std::vector<Entry> list(const std::vector<std::string>& ignored = {}) const;

  /// Opens and hashes a regular file. Throws Code::bad_input, with the name and the reason, if it cannot be opened, is
  /// not a regular file, has several hard links, or is written meanwhile.
  HashedFile hash(const std::string& name) const;

  const std::string& path() const { return path_; }

 private:
  File open(const std::string& name, int flags) const;

  std::string path_;
  File folder_;
};

/// Returns the reason why a text is not the canonical name of a file in a folder, or "". Names are relative, with '/',
/// and without empty, "." and ".." parts.
std::string_view name_fault(std::string_view name);

/// A file as a folder and a name in it.
struct FolderPlace {
  std::string folder, name;
};
FolderPlace place_of_file(const std::string& path);

}  // namespace frazil::govern
