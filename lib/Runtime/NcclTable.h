//===- NcclTable.h - NCCL, opened when ranks on GPUs need it --------------===//
//
// Private to this folder. The functions of NCCL that the runtime calls, found
// by name in a shared library, as those of the driver are.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_NCCLTABLE_H
#define TENON_LIB_RUNTIME_NCCLTABLE_H

#include "tenon/Libraries/Nccl.h"

#include <string>

namespace tenon::runtime {

struct NcclTable {
#define TENON_NCCL_MEMBER(RESULT, NAME, PARAMETERS)                            \
  decltype(&::NAME) NAME = nullptr;
  TENON_NCCL_FUNCTIONS(TENON_NCCL_MEMBER)
#undef TENON_NCCL_MEMBER

  /// Opens `file` for as long as the process lives. False with a message in
  /// `error` if it is not there, lacks a function, or is older than 2.13.
  bool open(const std::string &file, std::string &error);

  /// "2.28.9" of 22809.
  static std::string versionText(int version);
  /// "unhandled cuda error: ...", the library's last words.
  std::string textOf(ncclResult_t result) const;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_NCCLTABLE_H
