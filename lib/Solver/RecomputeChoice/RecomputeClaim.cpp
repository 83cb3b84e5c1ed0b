//===- RecomputeClaim.cpp - What the bound of a plan says, in words -------===//
//
// See RecomputeClaim.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/RecomputeClaim.h"

#include <cstdio>

using namespace tenon::solver;

static double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100 * double(part) / double(whole) : 0;
}

double RecomputeClaim::percentOfWhole() const {
  return percent(cost - bound, cost);
}

double RecomputeClaim::percentOfExtra() const {
  return percent(cost - bound, cost - once);
}

std::string tenon::solver::describe(const RecomputeClaim &claim) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "at most %.2f %% of the predicted time and %.2f %% of the "
                "extra could be saved with these kernels, first run in this "
                "order",
                claim.percentOfWhole(), claim.percentOfExtra());
  return text;
}
