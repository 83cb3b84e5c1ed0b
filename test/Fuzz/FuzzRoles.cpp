//===- FuzzRoles.cpp - Any bytes as a roles file -------------------------===//

#include "tenon/Import/RolesFile.h"

#include <cstdlib>

using namespace tenon::importer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto entries = parseRolesFile(
      llvm::StringRef(reinterpret_cast<const char *>(data), size));
  if (!entries) {
    if (llvm::toString(entries.takeError()).empty())
      abort(); // refused without a word
    return 0;
  }
  for (const RolesEntry &entry : *entries)
    if (!entry.role && !entry.result)
      abort();
  return 0;
}
