//===- CompilerIdentity.cpp - Which compiler this is ----------------------===//
//
// See CompilerIdentity.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/LLVM/CompilerIdentity.h"

#include <link.h>
#include <sys/stat.h>

namespace tenon::codegen {

static int addFile(dl_phdr_info *file, size_t, void *text) {
  // The program itself comes without a name.
  const char *name = *file->dlpi_name ? file->dlpi_name : "/proc/self/exe";
  struct stat found;
  if (stat(name, &found) == 0)
    *static_cast<std::string *>(text) +=
        std::to_string(found.st_size) + " " +
        std::to_string(found.st_mtim.tv_sec) + "." +
        std::to_string(found.st_mtim.tv_nsec) + "\n";
  return 0;
}

std::string compilerIdentity() {
  std::string text;
  dl_iterate_phdr(addFile, &text);
  return text;
}

} // namespace tenon::codegen
