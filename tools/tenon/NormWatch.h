//===- NormWatch.h - How large parameters and their updates are -----------===//
//
// `tenon run --norms-every`: the Euclidean norm of each floating parameter
// after a step, and of what the step changed in it. Only such a step copies the
// parameters; all of them compute the same bits with and without.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_NORMWATCH_H
#define TENON_TOOLS_TENON_NORMWATCH_H

#include "tools/tenon/StepRange.h"

#include "tenon/Runtime/Executor.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::tool {

/// Of which steps norms are wanted.
struct NormOptions {
  int64_t every = 0; // 0 for never
  StepRange steps;

  bool isWanted() const { return every > 0 || !steps.isEmpty(); }
  /// `step` is counted from 1.
  bool isDue(int64_t step) const {
    return (every > 0 && step % every == 0) || steps.contains(step);
  }
};

class NormWatch {
public:
  /// Null with a message in `error` if the step has no floating parameter, or
  /// if there is not enough memory for a copy of them.
  static std::unique_ptr<NormWatch> open(const runtime::Executor &executor,
                                         std::string &error);

  /// What the numbers are called: `parameter_norm` and `update_norm` of all
  /// parameters together, then of each, as `parameter_norm.params.w`.
  std::vector<std::string> names() const;
  /// Copies the parameters. False with `error` filled in if the device has
  /// failed, as for endStep().
  bool beginStep(runtime::Error &error);
  bool endStep(runtime::Error &error);
  /// Of the last step that was watched, in the order of the names.
  const std::vector<double> &values() const { return norms; }

private:
  explicit NormWatch(const runtime::Executor &executor) : executor(executor) {}

  struct Parameter {
    size_t tensor = 0; // in the index
    std::vector<std::byte> before;
  };

  const runtime::Executor &executor;
  std::vector<Parameter> parameters;
  std::vector<std::byte> after; // of one parameter
  std::vector<double> norms;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_NORMWATCH_H
