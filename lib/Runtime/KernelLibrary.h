//===- KernelLibrary.h - The compiled kernels of a file -------------------===//
//
// Private to this folder: the ELF shared object in a `.tenon` file, loaded from
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_KERNELLIBRARY_H
#define TENON_LIB_RUNTIME_KERNELLIBRARY_H

#include "tenon/Format/Reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::runtime {

/// A compiled kernel: does part `part` of `parts`.
using KernelFunction = void (*)(void *const *arguments, int64_t part,
                                int64_t parts);

class KernelLibrary {
public:
  KernelLibrary() = default;
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary &) = delete;
  KernelLibrary &operator=(const KernelLibrary &) = delete;

  /// Loads the section of kernels and finds every kernel of the index. False
  /// with a message in `error` if something is missing or damaged.
  bool load(const format::Reader &reader, std::string &error);

  /// One per callee of the index, null for what is no kernel.
  const std::vector<KernelFunction> &functions() const { return list; }

private:
  void *handle = nullptr;
  int file = -1;
  std::vector<KernelFunction> list;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_KERNELLIBRARY_H
