//===- Plan.cpp - tenon plan
//------------------------------------------------===//
//
// Plans a step without compiling it and writes down the problems the solvers
// were given, so that tenon-solve can replay them.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Driver/Compiler.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
using namespace tenon::tool;

int tool::runPlan(Arguments arguments) {
  driver::CompileOptions options;
  ArgumentParser parser("plan",
                        "Plans a training step without compiling it and writes "
                        "the planner's problems.",
                        "FILE.mlir");
  parser.text("dump-problems", options.dumpProblems, "DIR",
              "folder for the problems, as tenon-solve reads them");
  parser.text("roles", options.rolesFile, "FILE",
              "JSON that says what each argument is");
  parser.text("cpu", options.cpu, "SET",
              "host, x86-64-v3, x86-64-v4 or x86-64-v4+avx512bf16");
  std::vector<std::string> inputs;
  if (auto code = parser.parse(arguments, inputs))
    return *code;
  options.input = inputs.front();
  options.to = driver::Stage::plan;
  if (options.dumpProblems.empty()) {
    llvm::errs() << "error: where to? pass --dump-problems=DIR\n";
    return driver::exitBadUsage;
  }
  if (std::error_code code =
          llvm::sys::fs::create_directories(options.dumpProblems)) {
    llvm::errs() << "error: cannot make folder '" << options.dumpProblems
                 << "': " << code.message() << "\n";
    return driver::exitUserError;
  }
  return driver::compile(options).code;
}
