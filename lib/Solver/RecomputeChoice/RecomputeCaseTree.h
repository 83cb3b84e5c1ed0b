//===- RecomputeCaseTree.h - trees of cases -------------------------------===//
//
// What the two ways to tell cases apart (RecomputeCases.h, RecomputeViews.h)
// have in common: a case is a leaf, or is split into two that stand side by
// side in one list; the least leaf is the bound, and a certificate lists a case
// before both of its sides.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTECASETREE_H
#define TENON_LIB_SOLVER_RECOMPUTECASETREE_H

#include "tenon/Solver/RecomputeChoice.h"

namespace tenon::solver {

/// The leaf of the least overhead, the first of equals. A leaf's `children` are
/// -1.
template <typename Case>
int32_t leastLeaf(const std::vector<Case> &cases) {
  int32_t least = -1;
  for (size_t i = 0; i < cases.size(); ++i)
    if (cases[i].children < 0 &&
        (least < 0 || cases[i].overhead < cases[least].overhead))
      least = static_cast<int32_t>(i);
  return least;
}

/// Appends the case `at` and those below it, except where one proves `proved`
/// by itself. `split(case, entry)` says what a case splits, `leaf(index,
/// entry)` what one proves.
template <typename Case, typename Split, typename Leaf>
void listCases(const std::vector<Case> &cases, int32_t at, __int128 proved,
               const Split &split, const Leaf &leaf,
               std::vector<RecomputeCertificate::Case> &result) {
  const Case &one = cases[at];
  const bool isSplit = one.children >= 0 && one.overhead < proved;
  RecomputeCertificate::Case entry;
  if (isSplit)
    split(one, entry);
  else
    leaf(at, entry);
  result.push_back(std::move(entry));
  for (int32_t side = 0; isSplit && side < 2; ++side)
    listCases(cases, one.children + side, proved, split, leaf, result);
}

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTECASETREE_H
