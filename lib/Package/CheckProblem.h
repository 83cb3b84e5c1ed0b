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
//                                  step when it ends
//   node.cost          larger      at most the predicted time of its
//                                  instructions, with the costs of its parts
//   node.bytes,        larger      where anything reads the value: at most what
//   extraOutputs                   it takes of the temporaries; it is made by
//                                  the instructions of its producer
//   node.workspace     larger      with all that the node reads and makes, at
//                                  most what its instructions need there, from
//                                  each value's write to its last read; for a
//                                  part also with what parts behind it read,
//                                  and parts before it made for later
//   node.pinned,       set         it makes nothing that takes memory, or is a
//   node.collective                loop or conditional that makes what leaves
//                                  the step, or one of its instructions is a
//                                  collective
//   edges              more        the instructions of every run of the
//                                  consumer read the value. Those of a part,
//                                  and of a kernel that computes other nodes
//                                  before its own, may have made it themselves;
//                                  a node of several instructions, the last of
//                                  which computes the next node as well, may
//                                  have read it before
//   aliases            more        there are none
//   variants           fewer       what the problem leaves out cannot be seen
//   variant.bytes      larger      0: the copy lies in the host's memory
//   variant.saveCost,  larger      the same for all, and at most the predicted
//   loadCost                       times of the copies in the program
//   variant.transfer   larger      all move their bytes at one rate
//   floors, or rows    larger,     one is met by the program, with node.cost
//   where there are    fewer       and node.workspace; what the others say of
//   none                           ways that the program does not run its
//                                  rounds cannot be seen
//   rows               -           bounds are proved of the floors, and each
//                                  row is above one (checkRecompute)
//   again, lateReads,  -           no bound counts them
//   overwrites, loss,
//   fixedMemory,
//   mayRepeatCollectives
//
// Nor can be seen what a part of a kernel reads that never runs alone, what the
// problem leaves out, and whether predicted times are right: where a copy has
// joined its reader, there is only the time of both. The output says so.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PACKAGE_CHECKPROBLEM_H
#define TENON_LIB_PACKAGE_CHECKPROBLEM_H

#include "ProgramOrder.h"

#include "tenon/Solver/RecomputeChoice.h"

#include <string>

namespace tenon::package {

/// Empty, or what the problem has that the program has not. The problem is well
/// formed, and SymbolicRun has found the plan true of the program.
std::string whyNotOfProgram(const format::Index &index,
                            const ProgramOrder &program,
                            const solver::RecomputeProblem &problem);

} // namespace tenon::package

#endif // TENON_LIB_PACKAGE_CHECKPROBLEM_H
