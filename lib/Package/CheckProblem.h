//===- CheckProblem.h - Is a recomputation problem that of a program? ----===//
//
// Private to this folder. The bound in a file is one on the plans of a
// recomputation problem. It says something of the program only if whatever
// makes these plans dearer is in the program, too. Field by field of
// solver::RecomputeProblem, what makes plans dearer, and what is checked:
//
//   field              dearer if   checked
//   nodes              more        each is an instruction, or several that run
//                                  one after the other; or a part of one, which
//                                  writes its results; or takes no time and
//                                  makes nothing: what reads what leaves the
//                                  step when it ends, and the second node of a
//                                  loop
//   node.cost          larger      at most the predicted time of its
//                                  instructions, with the costs of its parts
//   node.bytes,        larger      where anything reads the value: at most what
//   extraOutputs                   it takes of the temporaries; it is made by
//                                  the instructions of its producer
//   node.workspace     larger      with all that the node reads and makes, at
//                                  most what its instructions need there; what
//                                  they write over a value that the problem
//                                  reads again later counts beside it
//   node.pinned,       set         it makes nothing that takes memory, or is a
//   node.collective                loop or conditional that makes what leaves
//                                  the step
//   edges              more        the instructions of every run of the
//   consumer
//                                  read the value; those of a part, and of a
//                                  kernel that computes other nodes before its
//                                  own, may have made it themselves
//   aliases            more        there are none
//   variants           fewer       there are none: no program executes them
//   loops              fewer       the residual of a loop and what its second
//                                  node adds take nothing
//   row.forwardCost    larger      of the chosen row, with node.cost
//   rows,              fewer,      cannot be seen: no program shows the other
//   row.forwardPeak    larger      ways to run a loop, and kernels of a round
//                                  are joined when one was chosen
//   again, lateReads,  -           no bound counts them
//   overwrites, loss,
//   fixedMemory,
//   mayRepeatCollectives
//
// Predicted times themselves cannot be seen either, nor what else the problem
// leaves out: parts of kernels, for one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PACKAGE_CHECKPROBLEM_H
#define TENON_LIB_PACKAGE_CHECKPROBLEM_H

#include "ProgramOrder.h"

#include "tenon/Solver/RecomputeChoice.h"

#include <string>

namespace tenon::package {

/// Empty, or what the problem has that the program has not. The problem is well
/// formed, `rows` are rows of its loops, and SymbolicRun has found the plan
/// true of the program.
std::string whyNotOfProgram(const format::Index &index,
                            const ProgramOrder &program,
                            const solver::RecomputeProblem &problem,
                            const std::vector<int32_t> &rows);

} // namespace tenon::package

#endif // TENON_LIB_PACKAGE_CHECKPROBLEM_H
