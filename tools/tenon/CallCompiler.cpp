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
  std::error_code unreadable;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", unreadable)
                         .replace_filename("tenon-compiler")
                         .string();
  std::vector<std::string> words = {path, std::string(verb)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(path.c_str(), pointers.data());
  std::fprintf(stderr,
               "error: cannot start the compiler '%s': %s; it belongs beside "
               "tenon, which runs .tenon files without it\n",
               path.c_str(), std::strerror(errno));
  return exitUserError;
}
