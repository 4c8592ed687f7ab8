#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/access/tenants.h"
#include "server/request/request.h"

namespace frazil::server {

/// Regions of POSIX shared memory that clients have registered. A region belongs to the tenant that registered it;
/// others can neither use nor see it. Bytes are copied with pread() and pwrite() and never mapped, so a client that
/// truncates its memory gets an error and cannot end the server. Thread-safe.
class SharedMemory {
 public:
  static constexpr std::size_t kMaxRegions = 1024;

  /// `max_bytes`: limit for the inputs of all current requests together.
  explicit SharedMemory(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  struct Region {
    std::string name;
    std::string key;  ///< name of the shared memory object, with or without the leading '/'
    std::uint64_t offset = 0, byte_size = 0;
  };
  /// Registers a region. Throws Refusal (bad_request) for a name that is taken, an unsuitable key, an object that
  /// cannot be opened and bounds outside of it.
  void add(const Tenants::Identity& identity, const Region& region);
  /// Removes a region of the caller, or all of them for an empty name. Requests that use it finish. An unknown name is
  /// not an error.
  void remove(const Tenants::Identity& identity, const std::string& name);
  /// Returns a region of the caller, or all of them for an empty name. Throws Refusal (not_found) for an unknown name.
  std::vector<Region> list(const Tenants::Identity& identity, const std::string& name) const;

  /// Reads the shared inputs of a request and adds them to its other inputs. Throws Refusal.
  void take_inputs(const Tenants::Identity& identity, InferRequest& request) const;
  /// Writes outputs of a response to the places that a request wants them at, and records that in the response. Throws
  /// Refusal.
  void place_outputs(const Tenants::Identity& identity, const std::vector<WantedOutput>& wanted,
                     InferResponse& response) const;

 private:
  struct Opened;
  using Key = std::pair<std::string, std::string>;  // tenant and name

  std::shared_ptr<const Opened> find(const Tenants::Identity& identity, const std::string& name,
                                     const std::string& what) const;
  std::shared_ptr<const std::string> read(const Opened& from, const SharedPlace& place, const std::string& what) const;

  const std::uint64_t max_bytes_;
  const std::shared_ptr<std::atomic<std::uint64_t>> bytes_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  mutable std::mutex mutex_;  // guards the member below
  std::map<Key, std::shared_ptr<const Opened>> regions_;
};

}  // namespace frazil::server
