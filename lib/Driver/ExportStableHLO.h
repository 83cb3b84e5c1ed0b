//===- ExportStableHLO.h - A step as StableHLO for XLA --------------------===//
//
// The short walk: read, plan for what XLA will do, write. The module that
// leaves has the signature of the one that came.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_EXPORTSTABLEHLO_H
#define TENON_LIB_DRIVER_EXPORTSTABLEHLO_H

#include "tenon/Driver/Compiler.h"

namespace tenon::driver {

/// compile() for the target stablehlo; the text is the result.
CompileResult exportStableHLO(const CompileOptions &options);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_EXPORTSTABLEHLO_H
