//===- CudaDriverTable.cpp - NVIDIA's driver, opened when it is needed ----===//
//
// See CudaDriverTable.h.
//
//===----------------------------------------------------------------------===//

#include "CudaDriverTable.h"

#include "tenon/Support/Refuse.h"

#include <dlfcn.h>

using namespace tenon;
using namespace tenon::runtime;

bool CudaDriverTable::open(const std::string &file, std::string &error) {
  const std::string name = file.empty() ? "libcuda.so.1" : file;
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return refuse(error, reason ? reason : "cannot open " + name);
  }
  if (dlsym(library, "cublasLtCreate"))
    fileWithCublasLt = name;
  std::string missing;
#define TENON_CUDA_FIND(NAME)                                                  \
  NAME = reinterpret_cast<decltype(NAME)>(dlsym(library, #NAME));              \
  if (!NAME)                                                                   \
    missing += std::string(missing.empty() ? "" : ", ") + #NAME;
  TENON_CUDA_CALLED(TENON_CUDA_FIND)
#undef TENON_CUDA_FIND
  isEmulated = dlsym(library, "tenonEmulatedCudaError") != nullptr;
  return missing.empty() ||
         refuse(error, name + " lacks " + missing +
                           ", which every driver since CUDA 12.0 has");
}

std::string CudaDriverTable::textOf(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "CUDA error " + std::to_string(int(result));
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return std::string(text) + " (" + name + ")";
}
