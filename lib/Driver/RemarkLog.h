//===- RemarkLog.h - Keeps what passes remark ------------------*- C++ -*-===//
//
// Passes say what they did and what they declined, and why, through MLIR's
// remark engine. This is the engine's outlet during a compilation: it keeps the
// remarks of the wanted categories for the report and prints them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_REMARKLOG_H
#define TENON_LIB_DRIVER_REMARKLOG_H

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace tenon::driver {

/// Appends to `log` and prints on standard error every remark whose category,
/// the flag of its pass, matches the regular expression `categories`. `log`
/// must outlive the context. False if that is no regular expression.
bool logRemarks(mlir::MLIRContext &context, llvm::StringRef categories,
                llvm::json::Array &log);

/// The innermost place in a source text, as `file:line:column`; empty if there
/// is none.
std::string placeOf(mlir::Location location);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_REMARKLOG_H
