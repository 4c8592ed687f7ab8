#pragma once

#include <future>

#include "server/service/service.h"

namespace frazil::test {

/// A worker that is busy until it is let go, so that requests meet in the queue.
class Busy {
 public:
  explicit Busy(server::Service& service) : free_(go_.get_future()) {
    service.workers().post([this] { free_.wait(); });
  }
  void go() { go_.set_value(); }

 private:
  std::promise<void> go_;
  std::future<void> free_;
};

}  // namespace frazil::test
