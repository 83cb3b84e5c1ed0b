//===- Hash.cpp - The hash of what files hold -----------------------------===//
//
// XXH3-128, kept in a file of its own because its header is large.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Hash.h"

#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

tenon::format::Hash tenon::format::hashOf(std::span<const std::byte> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::string tenon::format::hashText(const Hash &hash) {
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx",
                static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}
