//===- InternalError.h - When the compiler is wrong -----------------------===//
//
// A fault of the compiler, a crash on any thread included, ends with exit code
// 70, and says so and how to make it happen again. Nothing is lost: output
// files are written under another name until they are whole.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILER_INTERNALERROR_H
#define TENON_TOOLS_TENON_COMPILER_INTERNALERROR_H

namespace tenon::tool {

/// From here on a crash ends the process with exitInternal after the report.
/// `argv` has to outlive the process' work.
void reportCrashes(int argc, char **argv);

/// Prints what to do about an internal error; standard error.
void reportInternalError();

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMPILER_INTERNALERROR_H
