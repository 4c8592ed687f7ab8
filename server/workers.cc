#include "server/workers.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

namespace frazil::server {

namespace asio = boost::asio;

struct Workers::Pool : asio::thread_pool {
  using asio::thread_pool::thread_pool;
};

Workers::Workers(unsigned threads) : count_(threads), pool_(std::make_unique<Pool>(threads)) {}

Workers::~Workers() { pool_->join(); }

void Workers::post(std::function<void()> function) { asio::post(*pool_, std::move(function)); }

void Workers::post_at(std::chrono::steady_clock::time_point when, std::function<void()> function) {
  auto timer = std::make_shared<asio::steady_timer>(*pool_, when);
  timer->async_wait([timer, function = std::move(function)](boost::system::error_code) { function(); });
}

}  // namespace frazil::server
