//===- ReportingContext.cpp - A context whose messages reach people -------===//
//
// See ReportingContext.h.
//
//===----------------------------------------------------------------------===//

#include "ReportingContext.h"

#include "RemarkLog.h"

#include "tenon/Driver/Compiler.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

ReportingContext::ReportingContext(const DialectRegistry &registry)
    : MLIRContext(registry, Threading::DISABLED), handler(sources, this) {
  printOpOnDiagnostic(false);
}

std::unique_ptr<ReportingContext>
ReportingContext::create(llvm::StringRef remarks, llvm::json::Array &log) {
  DialectRegistry registry;
  registerDialects(registry);
  std::unique_ptr<ReportingContext> context(new ReportingContext(registry));
  if (logRemarks(*context, remarks, log))
    return context;
  llvm::errs() << "error: '" << remarks << "' is no regular expression\n";
  return nullptr;
}
