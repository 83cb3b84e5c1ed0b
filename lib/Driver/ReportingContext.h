//===- ReportingContext.h - A context whose messages reach people ---------===//
//
// What every compilation starts from: a context with all dialects that prints
// diagnostics on standard error and keeps remarks for the report.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_REPORTINGCONTEXT_H
#define TENON_LIB_DRIVER_REPORTINGCONTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>

namespace tenon::driver {

class ReportingContext : public mlir::MLIRContext {
public:
  /// Remarks of the wanted categories go to `log`, which must outlive the
  /// context; see logRemarks. Null, after an error on standard error, if
  /// `remarks` is no regular expression.
  static std::unique_ptr<ReportingContext> create(llvm::StringRef remarks,
                                                  llvm::json::Array &log);

private:
  explicit ReportingContext(const mlir::DialectRegistry &registry);

  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler;
};

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_REPORTINGCONTEXT_H
