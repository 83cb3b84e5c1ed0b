//===- NcclTable.cpp - NCCL, opened when ranks on GPUs need it ------------===//
//
// See NcclTable.h.
//
//===----------------------------------------------------------------------===//

#include "NcclTable.h"

#include "tenon/Support/Refuse.h"

#include <dlfcn.h>

using namespace tenon;
using namespace tenon::runtime;

/// The first that has all functions, and whose calls can be captured.
static constexpr int oldestVersion = 21300;

std::string NcclTable::versionText(int version) {
  // Before 2.9 there was one digit less.
  const int major = version >= 10000 ? 10000 : 1000;
  return std::to_string(version / major) + "." +
         std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

bool NcclTable::open(const std::string &file, std::string &error) {
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return refuse(error, reason ? reason : "cannot open " + file);
  }
  int version = 0;
  ncclGetVersion = reinterpret_cast<decltype(ncclGetVersion)>(
      dlsym(library, "ncclGetVersion"));
  if (!ncclGetVersion || ncclGetVersion(&version) != ncclSuccess)
    return refuse(error, file + " is no NCCL");
  if (version < oldestVersion)
    return refuse(error, file + " is NCCL " + versionText(version) +
                             ", expected " + versionText(oldestVersion) +
                             " or later");
  std::string missing;
#define TENON_NCCL_FIND(RESULT, NAME, PARAMETERS)                              \
  NAME = reinterpret_cast<decltype(NAME)>(dlsym(library, #NAME));              \
  if (!NAME)                                                                   \
    missing += std::string(missing.empty() ? "" : ", ") + #NAME;
  TENON_NCCL_FUNCTIONS(TENON_NCCL_FIND)
#undef TENON_NCCL_FIND
  return missing.empty() ||
         refuse(error,
                file + ", NCCL " + versionText(version) + ", lacks " + missing);
}

std::string NcclTable::textOf(ncclResult_t result) const {
  const char *text = ncclGetErrorString(result);
  const char *last = ncclGetLastError(nullptr);
  std::string whole = text ? text : "result " + std::to_string(int(result));
  return last && *last ? whole + ": " + last : whole;
}
