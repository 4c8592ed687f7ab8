#pragma once

#include <cerrno>

#include <boost/asio/socket_base.hpp>
#include <boost/system/error_code.hpp>
#include <sys/stat.h>

namespace frazil::server {

/// Opens an acceptor and listens at an address. `file` is the path of a Unix socket, or null. The socket's file is
/// accessible to its owner and group only.
template <class Acceptor>
boost::system::error_code listen_at(Acceptor& acceptor, const typename Acceptor::endpoint_type& here,
                                    const char* file = nullptr) {
  using boost::asio::socket_base;
  constexpr mode_t kMode = 0660;
  boost::system::error_code error;
  // NOLINTBEGIN(bugprone-unused-return-value): they return `error`
  acceptor.open(here.protocol(), error);
  if (!error) acceptor.set_option(socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(here, error);
  if (!error && file != nullptr && ::chmod(file, kMode) != 0) error.assign(errno, boost::system::system_category());
  if (!error) acceptor.listen(socket_base::max_listen_connections, error);
  // NOLINTEND(bugprone-unused-return-value)
  return error;
}

}  // namespace frazil::server
