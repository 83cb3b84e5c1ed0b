//===- FoldingChecker.h - Follows ranks next to their devices -------------===//
//
// The state of the check that ranks compute what their devices do
// (CheckFolding.cpp), which the files share that follow one kind of operation
// each.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDINGCHECK_FOLDINGCHECKER_H
#define TENON_LIB_SHARDINGCHECK_FOLDINGCHECKER_H

#include "Terms.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Sharding/Layout.h"
#include "tenon/ShardingCheck/CheckFolding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tenon::shardingcheck::folding {

using PerMember = llvm::SmallVector<Term>; // per device, or per rank

/// First words of keys.
enum : uint64_t {
  operationKey,
  numberKey,
  argumentKey,
  regionArgumentKey,
  inOrderKey,
  nobodyKey,
  branchKey,
  unknownKey,
  loopKey,
};

/// One of the two programs.
struct Program {
  mlir::func::FuncOp main;
  sharding::Mesh mesh;
  bool isOfRanks = false;
  llvm::DenseMap<mlir::Value, PerMember> terms;

  size_t members() const { return size_t(mesh.devices()); }
};

/// A loop of the devices, followed.
struct FollowedLoop {
  stablehlo::WhileOp loop;
  /// Of each result.
  std::vector<PerMember> results;
};

class FoldingChecker {
public:
  FoldingChecker(Program devices, Program ranks, unsigned axis)
      : devices(std::move(devices)), ranks(std::move(ranks)), axis(axis) {}

  std::optional<PartitionFault> run();

private:
  // CheckFolding.cpp

  bool fail(mlir::Location location, const llvm::Twine &message) {
    if (!fault)
      fault = {location, message.str()};
    return false;
  }

  bool readArguments(Program &program);
  bool checkResults();
  std::optional<sharding::Layout> layoutOf(mlir::DictionaryAttr attributes);

  // FoldedComputation.cpp

  /// Of a block of ranks, `twin` is the devices' one in whose place it stands.
  bool visitBlock(Program &program, mlir::Block &block, mlir::Block *twin);
  bool visit(Program &program, mlir::Operation *op, mlir::Block *twin);
  /// The terms of an operation that needs nobody else, on one member.
  llvm::SmallVector<Term> compute(Program &program, mlir::Operation *op,
                                  size_t member);
  std::optional<Term> lookedThrough(mlir::Operation *op,
                                    llvm::ArrayRef<Term> operands);
  std::optional<Term> number(mlir::Operation *op,
                             llvm::ArrayRef<Term> operands);
  void appendRegions(Program &program, mlir::Operation *op, size_t member,
                     Terms::Key &key);

  // FoldedCollectives.cpp

  bool visitCollective(Program &program, mlir::Operation *op);
  std::optional<Term> combined(Program &program, mlir::Operation *op,
                               llvm::ArrayRef<int64_t> group,
                               llvm::ArrayRef<Term> operands);
  Term tree(mlir::Operation &how, llvm::ArrayRef<Term> terms);
  Term converted(Term term, mlir::Type element);

  // FoldedControl.cpp

  bool visitBranches(Program &program, mlir::Operation *op, mlir::Block *twin);
  bool visitLoopOfDevices(stablehlo::WhileOp loop);
  bool visitLoopOfRanks(stablehlo::WhileOp loop, mlir::Block *twin);
  bool isLoop(stablehlo::WhileOp loop, FollowedLoop &candidate);

  PerMember of(Program &program, mlir::Value value) {
    return program.terms.lookup(value);
  }
  bool areEqual(llvm::ArrayRef<Term> terms) { return llvm::all_equal(terms); }

  Program devices, ranks;
  unsigned axis;
  Terms terms;
  std::map<Term, llvm::APInt> numbers; // scalars that are known
  /// Loops of the devices, by the block in which they stand.
  llvm::DenseMap<mlir::Block *, std::vector<FollowedLoop>> loops;
  uint64_t unknowns = 0;
  std::optional<PartitionFault> fault;
};

} // namespace tenon::shardingcheck::folding

#endif // TENON_LIB_SHARDINGCHECK_FOLDINGCHECKER_H
