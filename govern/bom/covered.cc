#include "govern/bom/covered.h"

#include <algorithm>

#include "govern/base/file.h"
#include "govern/sign/bundle.h"

namespace frazil::govern {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 64U << 20U;

}  // namespace

CoveredFiles::CoveredFiles(const std::string& folder, std::span<const Folder::Entry> entries,
                           std::span<const PublicKey> trusted) {
  if (trusted.empty()) return;
  for (const Folder::Entry& entry : entries) {
    if (entry.regular && entry.name.ends_with(kBundleEnding)) add(folder, entry.name, entries, trusted);
  }
}

void CoveredFiles::add(const std::string& folder, const std::string& bundle, std::span<const Folder::Entry> entries,
                       std::span<const PublicKey> trusted) {
  const std::size_t slash = bundle.rfind('/');
  const std::string prefix = slash == std::string::npos ? "" : bundle.substr(0, slash + 1);
  const bool whole_folder = bundle.substr(prefix.size()) == kBundleName;
  const std::string file = bundle.substr(0, bundle.size() - std::string_view(kBundleEnding).size());
  if (!whole_folder && !std::ranges::binary_search(entries, file, {}, &Folder::Entry::name)) return;
  const std::string path = folder + '/' + bundle;
  const auto verified = verify_folder(folder + '/' + (whole_folder ? prefix : file), read_file(path, kMaxBundleBytes),
                                      "signature '" + bundle + "'", trusted, {.bundle_path = path, .keep_open = false});
  for (const Violation& violation : verified.violations) {
    violations_.push_back("signature '" + bundle + "': " + violation.text());
  }
  for (const HashedFile& signed_file : verified.files) digests_[prefix + signed_file.name] = signed_file.digest;
}

bool CoveredFiles::has(const std::string& name, const Digest& digest) const {
  const auto at = digests_.find(name);
  return at != digests_.end() && at->second == digest;
}

}  // namespace frazil::govern
