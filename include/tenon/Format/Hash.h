//===- Hash.h - The hash of what files hold -------------------------------===//
//
// XXH3-128, which the index and the sections of a .tenon file carry, and the
// tensors of a checkpoint. It finds damage, not malice.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_HASH_H
#define TENON_FORMAT_HASH_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon::format {

struct Hash {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash &) const = default;
};

Hash hashOf(std::span<const std::byte> bytes);

/// 32 hexadecimal digits, the high half first.
std::string hashText(const Hash &hash);

} // namespace tenon::format

#endif // TENON_FORMAT_HASH_H
