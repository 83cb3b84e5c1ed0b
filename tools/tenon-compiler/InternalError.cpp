//===- InternalError.cpp - When the compiler is wrong ---------------------===//
//
// See InternalError.h. The text is made beforehand, since a crash leaves no
// heap to rely on.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/InternalError.h"

#include "tenon/Support/ExitCode.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <unistd.h>

using namespace tenon;

static std::string &report() {
  static std::string text;
  return text;
}

void tool::reportInternalError() {
  // Nothing to be done where standard error is gone too.
  [[maybe_unused]] auto written =
      write(STDERR_FILENO, report().data(), report().size());
}

void tool::reportCrashes(int argc, char **argv) {
  llvm::SmallString<128> folder;
  llvm::sys::fs::current_path(folder);
  llvm::raw_string_ostream text(report());
  text << "error: internal error of tenon " TENON_VERSION
          ", not of what it was given\n"
          "note: please report it with the module; this makes it happen again, "
          "and tenon-reduce makes the module small:\n  cd ";
  llvm::sys::printArg(text, folder, /*Quote=*/false);
  text << " && tenon";
  for (int i = 1; i < argc; ++i) {
    text << ' ';
    llvm::sys::printArg(text, argv[i], /*Quote=*/false);
  }
  text << '\n';
  llvm::sys::AddSignalHandler(
      [](void *) {
        reportInternalError();
        _exit(exitInternal);
      },
      nullptr);
}
