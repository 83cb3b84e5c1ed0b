//===- LoadedKernels.cpp - Compiled kernels in this process, for tests ----===//
//
// The shared object goes through a file that only this process sees. The file
// stays open as long as the object is loaded: the loader takes an object with a
// path it has seen for the one it has loaded, and a new file would get the same
// path.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include "tenon/Codegen/CPU/LinkSharedObject.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tenon::codegen;

std::vector<FeatureSet> runnableFeatureSets() {
  std::vector<FeatureSet> sets;
  auto host = tenon::target::hostIsa();
  std::string_view before;
  for (const tenon::target::IsaInfo &info : tenon::target::instructionSets()) {
    // Some sets differ only in what libraries do.
    if (host && info.isa <= *host && info.llvmFeatures != before)
      sets.push_back(FeatureSet{info.isa, tenon::Subnormals::keep});
    before = info.llvmFeatures;
  }
  return sets;
}

LoadedKernels::LoadedKernels(llvm::ArrayRef<ObjectCode> objects) {
  mlir::MLIRContext context;
  auto image = linkSharedObject(objects, [&] {
    return mlir::emitError(mlir::UnknownLoc::get(&context));
  });
  if (mlir::failed(image)) {
    ADD_FAILURE() << "linking failed";
    return;
  }
  file = memfd_create("kernels", MFD_CLOEXEC);
  ssize_t written = write(file, image->data(), image->size());
  EXPECT_EQ(written, static_cast<ssize_t>(image->size()));
  std::string path = "/proc/self/fd/" + std::to_string(file);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    ADD_FAILURE() << dlerror();
}

LoadedKernels::~LoadedKernels() {
  if (handle)
    dlclose(handle);
  if (file >= 0)
    close(file);
}

Kernel *LoadedKernels::find(const char *name) const {
  return handle ? reinterpret_cast<Kernel *>(dlsym(handle, name)) : nullptr;
}
