#pragma once

#include <string>

#include <frazil/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// The message of the error that `function` throws, one line with this code; empty, and a failure, where it throws
/// none.
std::string message_of(auto&& function, frazil::api::Code code) {
  try {
    function();
  } catch (const frazil::api::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}
