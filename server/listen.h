#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

namespace frazil::server {

/// Has a closed acceptor listen at an address.
inline boost::system::error_code listen_at(boost::asio::ip::tcp::acceptor& acceptor,
                                           const boost::asio::ip::tcp::endpoint& here) {
  boost::system::error_code error;
  // NOLINTBEGIN(bugprone-unused-return-value): they return `error`
  acceptor.open(here.protocol(), error);
  if (!error) acceptor.set_option(boost::asio::ip::tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(here, error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  // NOLINTEND(bugprone-unused-return-value)
  return error;
}

}  // namespace frazil::server
