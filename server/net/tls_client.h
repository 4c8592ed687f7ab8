#pragma once

#include <functional>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include "server/config/server_config.h"

// TLS of this server as a client of others, and the reading of TLS files.
namespace frazil::server {

/// Calls `read` for a file. Throws api::Error (bad_input) "NAME FILE: reason" if it fails; `expected` describes the
/// content.
void read_tls_file(const std::string& name, const std::string& file, const char* expected,
                   const std::function<void(boost::system::error_code&)>& read);

/// Prevents a prompt on the terminal for the password of a key.
void refuse_passwords(boost::asio::ssl::context& context);

/// Returns a context that requires TLS 1.2 or newer and a certificate of the server. Throws api::Error (bad_input) for
/// an unusable file; `where` precedes the names "ca", "certificate" and "key" in its message.
boost::asio::ssl::context tls_client_context(const TlsFiles& files, const std::string& where);

}  // namespace frazil::server
