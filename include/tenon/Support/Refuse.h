//===- Refuse.h - Failing with a message ----------------------------------===//
//
// Functions without LLVM say in a string why they failed, and return false or a
// null pointer. Both at once:
//
//   if (bytes != expected)
//     return refuse(error, "it has " + std::to_string(bytes) + " bytes");
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_REFUSE_H
#define TENON_SUPPORT_REFUSE_H

#include <memory>
#include <string>
#include <utility>

namespace tenon {

/// What is returned then: false, or null.
struct Refusal {
  constexpr operator bool() const { return false; }
  template <typename T>
  operator std::unique_ptr<T>() const {
    return nullptr;
  }
};

[[nodiscard]] inline Refusal refuse(std::string &error, std::string why) {
  error = std::move(why);
  return {};
}

} // namespace tenon

#endif // TENON_SUPPORT_REFUSE_H
