//===- LapackCost.cpp - Seconds of matrix decompositions ------------------===//
//
// See LapackCost.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/LapackCost.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Target/GraphNodes.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;
using libraries::LapackRoutine;

/// Operations of one thread in LAPACK. Debian's, on one core of an
/// Intel server, makes 1.4 (factors of 64 x 64 f32) to 9 (singular values of
/// 256 x 256) billion.
static constexpr double operationsPerSecond = 3e9;

double cost::lapackSeconds(const libraries::LapackDescription &lapack) {
  const auto m = double(lapack.rows), n = double(lapack.columns),
             k = double(lapack.reflectors), least = std::min(m, n),
             most = std::max(m, n);
  double real = 0;
  switch (lapack.routine) {
  case LapackRoutine::potrf:
    real = n * n * n / 3;
    break;
  case LapackRoutine::trsm:
    real = m * n * (lapack.side == 'L' ? m : n);
    break;
  case LapackRoutine::getrf:
    real = least * least * (most - least / 3);
    break;
  case LapackRoutine::geqrf:
    real = 2 * least * least * (most - least / 3);
    break;
  case LapackRoutine::orgqr:
    real = 4 * m * n * k - 2 * (m + n) * k * k + 4 * k * k * k / 3;
    break;
  case LapackRoutine::gesdd:
    real = 4 * most * least * least + 22 * least * least * least;
    break;
  case LapackRoutine::syevd:
    real = 9 * n * n * n;
    break;
  }
  const bool isComplex =
      lapack.type == ElementType::c64 || lapack.type == ElementType::c128;
  return double(lapack.batch) * real * (isComplex ? 4 : 1) /
         operationsPerSecond;
}

double cost::lapackSeconds(step::GroupOp group, const target::Target &target) {
  auto attribute = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  std::string ignored;
  auto call =
      attribute ? exec::fromAttribute(attribute, ignored) : std::nullopt;
  auto *lapack =
      call ? std::get_if<libraries::LapackDescription>(&*call) : nullptr;
  if (!lapack)
    return 0;
  const double routine = lapackSeconds(*lapack);
  if (!target.isGpu())
    return routine;
  double bytes = 0;
  for (ValueRange values :
       {ValueRange(group.getInputs()), ValueRange(group.getOutputs())})
    for (Value value : values)
      bytes += double(storedBytes(value.getType()));
  const int64_t nodes = target::nodesOfHostCall(
      int64_t(group.getInputs().size() + group.getOutputs().size()));
  return routine + double(nodes) * target.overheads.launch +
         (target.hostLink > 0 ? bytes / target.hostLink : 0);
}
