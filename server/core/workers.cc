#include "server/core/workers.h"

#include <deque>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

namespace frazil::server {

namespace asio = boost::asio;

namespace {

thread_local std::deque<std::function<void()>>* posted_inline = nullptr;

}  // namespace

struct Workers::Pool : asio::thread_pool {
  using asio::thread_pool::thread_pool;
};

Workers::Workers(unsigned threads) : count_(threads), pool_(std::make_unique<Pool>(threads)) {}

Workers::~Workers() { pool_->join(); }

void Workers::post(std::function<void()> function) {
  if (posted_inline != nullptr) return posted_inline->push_back(std::move(function));
  post_to_worker(std::move(function));
}

void Workers::post_to_worker(std::function<void()> function) {
  asio::post(*pool_, [this, function = std::move(function)] { run(function); });
}

void Workers::run(const std::function<void()>& function) {
  const auto begun = Clock::now();
  {
    const BusyScope scope(other_);
    function();
  }
  busy_.add_busy(Clock::now() - begun);
}

bool Workers::is_inline() { return posted_inline != nullptr; }

void Workers::run_inline(std::function<void()> function) {
  std::deque<std::function<void()>> posted;
  posted.push_back(std::move(function));
  posted_inline = &posted;
  while (!posted.empty()) {
    const std::function<void()> next = std::move(posted.front());
    posted.pop_front();
    run(next);
  }
  posted_inline = nullptr;
}

void Workers::post_at(std::chrono::steady_clock::time_point when, std::function<void()> function) {
  auto timer = std::make_shared<asio::steady_timer>(*pool_, when);
  timer->async_wait([this, timer, function = std::move(function)](boost::system::error_code) { run(function); });
}

}  // namespace frazil::server
