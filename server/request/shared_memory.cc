#include "server/request/shared_memory.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/core/file_descriptor.h"
#include "server/request/tensor_bytes.h"

namespace frazil::server {

/// A registered region and its open object.
struct SharedMemory::Opened {
  Region region;
  FileDescriptor file;
};

namespace {

constexpr std::size_t kMaxName = 255;
constexpr std::string_view kReserved = "frazil";  // begins the names of the server's own objects

std::string region_text(const std::string& name) { return "shared memory region '" + name + "'"; }

/// Returns the name of an object with its '/'. Throws Refusal for a name that could reach other files.
std::string checked_key(const SharedMemory::Region& region) {
  std::string_view name = region.key;
  if (name.starts_with('/')) name.remove_prefix(1);
  const auto refuse_key = [&](const std::string& why) {
    refuse(region_text(region.name) + ": key '" + region.key + "': " + why);
  };
  if (name.empty() || name == "." || name == "..") refuse_key("expected the name of a shared memory object");
  if (name.size() > kMaxName) refuse_key("it has more than " + std::to_string(kMaxName) + " bytes");
  if (name.find('\0') != std::string_view::npos) refuse(region_text(region.name) + ": its key has a zero byte");
  if (name.find('/') != std::string_view::npos) refuse_key("expected no '/' but the first character");
  if (name.starts_with(kReserved)) refuse_key("names that begin with '" + std::string(kReserved) + "' are reserved");
  return "/" + std::string(name);
}

/// Returns the current size of a regular file; otherwise throws Refusal.
std::uint64_t size_of(int file, const std::string& what) {
  struct stat about{};
  if (::fstat(file, &about) != 0) refuse(what + ": " + text_of_errno(errno));
  if (!S_ISREG(about.st_mode)) refuse(what + " is not shared memory");
  return static_cast<std::uint64_t>(about.st_size);
}

/// Returns true if `bytes` from `offset` are within `size`, whatever the numbers.
bool within(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

/// Calls f(done) for the rest of a transfer until all is done. Throws Refusal if the memory ends before.
template <class F>
void transfer(std::size_t bytes, const std::string& what, F f) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t some = f(done);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) refuse(what + ": the shared memory has been truncated");
    done += static_cast<std::size_t>(some);
  }
}

/// Checks the bounds of a place in a region and in its object as it is now. Returns the position in the object.
off_t position_in(const SharedMemory::Region& region, int file, const SharedPlace& place, const std::string& what) {
  if (!within(place.offset, place.bytes, region.byte_size)) {
    refuse(what + ": " + region_text(region.name) + " has " + std::to_string(region.byte_size) + " bytes, expected " +
           std::to_string(place.bytes) + " from " + std::to_string(place.offset));
  }
  const std::uint64_t size = size_of(file, region_text(region.name));
  if (!within(region.offset, region.byte_size, size)) {
    refuse(what + ": the memory of " + region_text(region.name) + " has been truncated to " + std::to_string(size) +
           " bytes");
  }
  return static_cast<off_t>(region.offset + place.offset);
}

}  // namespace

void SharedMemory::add(const Tenants::Identity& identity, const Region& region) {
  if (region.name.empty() || region.name.size() > kMaxName) {
    refuse("the name of a shared memory region: expected 1 to " + std::to_string(kMaxName) + " bytes");
  }
  const std::string key = checked_key(region), what = region_text(region.name);
  auto opened = std::make_shared<Opened>(
      Opened{.region = region, .file = FileDescriptor(::shm_open(key.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK, 0))});
  if (!opened->file) refuse(what + ": shared memory '" + key + "': " + text_of_errno(errno));
  const std::uint64_t size = size_of(opened->file.get(), what);
  if (region.byte_size == 0 || !within(region.offset, region.byte_size, size)) {
    refuse(what + ": expected offset and byte_size within the " + std::to_string(size) + " bytes of '" + key + "'");
  }
  const std::scoped_lock lock(mutex_);
  if (regions_.size() >= kMaxRegions) refuse(what + ": there are " + std::to_string(kMaxRegions) + " regions already");
  if (!regions_.emplace(Key(identity.name(), region.name), std::move(opened)).second) {
    refuse(what + " is registered already");
  }
}

void SharedMemory::remove(const Tenants::Identity& identity, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(regions_, [&](const auto& entry) {
    return entry.first.first == identity.name() && (name.empty() || entry.first.second == name);
  });
}

std::vector<SharedMemory::Region> SharedMemory::list(const Tenants::Identity& identity, const std::string& name) const {
  std::vector<Region> list;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, opened] : regions_) {
      if (key.first == identity.name() && (name.empty() || key.second == name)) list.push_back(opened->region);
    }
  }
  if (list.empty() && !name.empty()) throw Refusal(Http::not_found, "there is no " + region_text(name));
  return list;
}

std::shared_ptr<const SharedMemory::Opened> SharedMemory::find(const Tenants::Identity& identity,
                                                               const std::string& name, const std::string& what) const {
  const std::scoped_lock lock(mutex_);
  const auto at = regions_.find(Key(identity.name(), name));
  if (at == regions_.end()) refuse(what + ": there is no " + region_text(name) + ": register it first");
  return at->second;
}

std::shared_ptr<const std::string> SharedMemory::read(const Opened& from, const SharedPlace& place,
                                                      const std::string& what) const {
  const int file = from.file.get();
  const off_t position = position_in(from.region, file, place, what);
  const std::uint64_t before = bytes_->fetch_add(place.bytes);
  const std::shared_ptr<std::string> bytes(new std::string, [counter = bytes_, size = place.bytes](std::string* text) {
    delete text;
    counter->fetch_sub(size);
  });
  if (!within(before, place.bytes, max_bytes_)) {
    throw Refusal(Http::unavailable, what + ": inputs in shared memory of current requests have more than " +
                                         std::to_string(max_bytes_) + " bytes");
  }
  bytes->resize(place.bytes);
  transfer(bytes->size(), what, [&](std::size_t done) {
    return ::pread(file, bytes->data() + done, bytes->size() - done, position + static_cast<off_t>(done));
  });
  return bytes;
}

void SharedMemory::take_inputs(const Tenants::Identity& identity, InferRequest& request) const {
  for (SharedInput& input : request.shared_inputs) {
    const std::string what = "input '" + input.name + "'";
    const std::uint64_t count = elements_of(input.sizes, input.place.bytes, what);
    const auto bytes = read(*find(identity, input.place.region, what), input.place, what);
    request.inputs.emplace_back(input.name,
                                tensor_from(input.dtype, std::move(input.sizes), count, *bytes, what, bytes));
  }
  request.shared_inputs.clear();
}

void SharedMemory::place_outputs(const Tenants::Identity& identity, const std::vector<WantedOutput>& wanted,
                                 InferResponse& response) const {
  for (const WantedOutput& output : wanted) {
    const auto at = std::ranges::find(response.outputs, output.name, &NamedArray::first);
    if (!output.shared || at == response.outputs.end()) continue;
    const std::string what = "output '" + output.name + "'";
    if (!at->second.is_tensor()) refuse(what + " is not a tensor, and the protocol has no form for it");
    SharedPlace place = *output.shared;
    const std::uint64_t size = binary_size(at->second);
    if (size > place.bytes) {
      refuse(what + " has " + std::to_string(size) + " bytes, its shared_memory_byte_size is " +
             std::to_string(place.bytes));
    }
    const auto to = find(identity, place.region, what);
    const off_t position = position_in(to->region, to->file.get(), place, what);
    std::string bytes;
    append_bytes(bytes, at->second);
    transfer(bytes.size(), what, [&](std::size_t done) {
      return ::pwrite(to->file.get(), bytes.data() + done, bytes.size() - done, position + static_cast<off_t>(done));
    });
    place.bytes = size;
    response.shared[output.name] = std::move(place);
  }
}

}  // namespace frazil::server
