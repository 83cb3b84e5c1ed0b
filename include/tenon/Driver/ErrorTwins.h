//===- ErrorTwins.h - A lowered step beside the same step in f64 ----------===//
//
// What lowering a step's precision costs in digits is measured by running two
// programs: the lowered step, and its twin in f64, which rounds as asked, for
// each decision about formats alone. Both give their gradients as further
// results.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DRIVER_ERRORTWINS_H
#define TENON_DRIVER_ERRORTWINS_H

#include "tenon/Driver/Compiler.h"

namespace tenon::driver {

struct ErrorTwins {
  /// .tenon files. The arguments of `exact` are those of `lowered`, each f32 an
  /// f64, and two i32 numbers behind them: the decisions from the first up to
  /// but not including the second are carried out. Results stand where they do
  /// in the step that came, and the gradients behind them; only in `lowered`
  /// may the other parts of tensors that are held in parts stand in between.
  std::vector<std::byte> lowered, exact;
  struct Gradient {
    std::string parameter;
    std::string format;                 // as it is stored in `lowered`
    int64_t inLowered = 0, inExact = 0; // numbers of results
  };
  std::vector<Gradient> gradients;
  /// Parameters whose gradient was not found (Analysis/Gradients.h).
  std::vector<std::string> withoutGradient;
  /// What each decision rounds, and where.
  std::vector<std::string> decisions;
};

/// Compiles options.input twice. Diagnostics are printed.
ExitCode compileErrorTwins(const CompileOptions &options, ErrorTwins &twins);

} // namespace tenon::driver

#endif // TENON_DRIVER_ERRORTWINS_H
