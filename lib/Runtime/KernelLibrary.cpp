//===- KernelLibrary.cpp - The compiled kernels of a file -----------------===//
//
// The section's bytes go into a file in memory, which the dynamic linker opens
// like any other.
//
//===----------------------------------------------------------------------===//

#include "KernelLibrary.h"

#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tenon;
using namespace tenon::runtime;

KernelLibrary::~KernelLibrary() {
  if (handle)
    dlclose(handle);
  if (file >= 0)
    close(file);
}

bool KernelLibrary::load(const format::Reader &reader, std::string &error) {
  const std::vector<format::Callee> &callees = reader.index().callees;
  list.resize(callees.size());
  auto isKernel = [](const format::Callee &callee) {
    return callee.kind == format::CalleeKind::kernel;
  };
  if (std::ranges::none_of(callees, isKernel))
    return true;
  const format::Section *section =
      reader.findSection(format::SectionKind::cpuKernels);
  if (!section || section->bytes == 0)
    return refuse(error, "the file has kernels but no code for them");
  auto fail = [&](const std::string &what) {
    return refuse(error, "cannot load the kernels: " + what);
  };
  file = memfd_create("tenon-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0 || ftruncate(file, off_t(section->bytes)) != 0)
    return fail(std::strerror(errno));
  void *bytes = mmap(nullptr, section->bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED)
    return fail(std::strerror(errno));
  bool intact = reader.readSection(
      *section, {static_cast<std::byte *>(bytes), section->bytes}, error);
  munmap(bytes, section->bytes);
  if (!intact)
    return false;
  // What was hashed is what runs.
  fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
  // The linker remembers libraries by the name they were opened with, so the
  // descriptor stays open as long as the library: its number is not reused.
  std::string path = "/proc/self/fd/" + std::to_string(file);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return fail(reason ? reason : "unknown reason");
  }
  for (size_t i = 0; i < callees.size(); ++i) {
    if (!isKernel(callees[i]))
      continue;
    void *symbol = dlsym(handle, callees[i].name.c_str());
    if (!symbol)
      return fail("there is no '" + callees[i].name + "' in them");
    list[i] = reinterpret_cast<KernelFunction>(symbol);
  }
  return true;
}
