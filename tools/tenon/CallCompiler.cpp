//===- CallCompiler.cpp - Hand over to the compiler -----------------------===//
//
// The compiler is an executable of its own: a process that trains should not
// map and relocate a compiler that it does not call.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Commands.h"

#include "tenon/Support/ExitCode.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

using namespace tenon;

int tool::callCompiler(std::string_view verb, Arguments arguments) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  fs::path folder =
      fs::read_symlink("/proc/self/exe", unreadable).parent_path();
  // Beside this executable in a build folder. The Python packages are folders
  // beside each other: this is tenon/native/tenon, the compiler is in
  // tenon_compiler/native.
  std::string path = (folder / "tenon-compiler").string();
  fs::path packaged = folder.parent_path().parent_path() / "tenon_compiler" /
                      "native" / "tenon-compiler";
  if (!fs::exists(path, unreadable) && fs::exists(packaged, unreadable))
    path = packaged.string();
  std::vector<std::string> words = {path, "--for=" TENON_VERSION,
                                    std::string(verb)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(path.c_str(), pointers.data());
  std::fprintf(stderr,
               "error: cannot start the compiler '%s': %s; it belongs beside "
               "tenon, which runs .tenon files without it; `pip install "
               "tenon-compiler==" TENON_VERSION
               "` installs it where tenon was installed by pip\n",
               path.c_str(), std::strerror(errno));
  return exitUserError;
}
