//===- SharedLibrary.cpp - A vendor's library, opened when it is called ---===//
//
// See SharedLibrary.h.
//
//===----------------------------------------------------------------------===//

#include "SharedLibrary.h"

#include <dlfcn.h>

using namespace tenon::libraries;

SharedLibrary::SharedLibrary(const std::string &file,
                             const std::string &package)
    : package(package), handle(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle)
    return;
  const char *reason = dlerror();
  error = (reason ? reason : "cannot open " + file) +
          ("; install the package " + package);
}

void *SharedLibrary::find(const std::string &name) {
  if (!handle)
    return nullptr;
  // What the process was started with comes first, as for a library that is
  // linked: so a function can be replaced by one that is preloaded.
  void *found = dlsym(RTLD_DEFAULT, name.c_str());
  if (!found)
    found = dlsym(handle, name.c_str());
  if (!found && error.empty())
    error = "the library has no '" + name + "'; install the package " + package;
  return found;
}
