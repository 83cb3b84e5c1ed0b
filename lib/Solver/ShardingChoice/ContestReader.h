//===- ContestReader.h - sharding problems of the contest -----------------===//
//
// Private to this folder. The JSON form of the contest on intra-operator
// parallelism of ASPLOS 2025: one object `problem` with `name`, `nodes` (lists
// `intervals`, `costs`, `usages`), `edges` (lists `nodes`, `costs`) and perhaps
// `usage_limit`. Tables are kept once each, so that the problem takes a
// fraction of the text.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_SHARDINGCHOICE_CONTESTREADER_H
#define TENON_LIB_SOLVER_SHARDINGCHOICE_CONTESTREADER_H

#include "tenon/Solver/ShardingChoice.h"

namespace tenon::solver {

/// Whether a text begins as a JSON object does.
bool isContestProblem(std::string_view text);

/// The first error with its place, or nothing.
std::optional<std::string> readContestProblem(std::string_view text,
                                              ShardingProblem &problem);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_SHARDINGCHOICE_CONTESTREADER_H
