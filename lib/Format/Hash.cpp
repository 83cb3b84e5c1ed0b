//===- Hash.cpp - The hash of indexes and sections ------------------------===//
//
// XXH3-128, kept in a file of its own because its header is large.
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

tenon::format::Hash tenon::format::hashOf(std::span<const std::byte> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}
