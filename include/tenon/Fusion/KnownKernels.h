//===- KnownKernels.h - What is known of kernels that are alike -----------===//
//
// A step repeats its layers, and grouping asks in each of them what the same
// few operations are as one kernel. Two sets of operations of a block are alike
// if they are the same operations on values of the same types, read each other
// in the same way, and leave the same results to others; which values they read
// and who reads theirs does not matter. What is found for one set is handed out
// for all that are like it.
//
// Worked example: of
//
//   %a = multiply %x, %y    %b = add %a, %x    %c = add %a, %y
//   %d = multiply %z, %y    %e = add %d, %z
//
// {a, b} and {d, e} are alike but for `a`, which %c reads, too; {b} and {c} are
// alike, as are {b} and {e}.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_KNOWNKERNELS_H
#define TENON_FUSION_KNOWNKERNELS_H

#include "tenon/Cost/KernelCost.h"
#include "tenon/Fusion/GroupGraph.h"

#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace tenon::fusion {

class KnownKernels {
public:
  /// Of the block of a graph, which does not change meanwhile.
  explicit KnownKernels(const GroupGraph &graph);

  /// The work of operations, given by number and in order, as one kernel that
  /// writes what others read, or some results.
  cost::KernelWork workOf(llvm::ArrayRef<unsigned> numbers);
  cost::KernelWork workOf(llvm::ArrayRef<unsigned> numbers,
                          llvm::ArrayRef<mlir::Value> results);
  /// The same if some kernel computes them well (GroupLegality.h); otherwise
  /// nothing, with the reason in `whyNot`.
  std::optional<cost::KernelWork> workIfLegal(llvm::ArrayRef<unsigned> numbers,
                                              std::string *whyNot = nullptr);

  /// Operations with the same number are the same but for the values they read
  /// and for what stages note on them.
  unsigned contentOf(unsigned number) const { return members[number].content; }

private:
  struct Facts {
    std::optional<bool> isLegal;
    std::optional<cost::KernelWork> work;
  };
  /// What counts of an operation alone and how it reads others.
  struct Member {
    unsigned content = 0; // see contentOf()
    bool isUpdate = false;
    unsigned firstResult = 0, resultCount = 0;
    llvm::SmallVector<unsigned, 3> operands;
  };

  void findContents();
  /// Known facts, or those to be found.
  Facts &factsOf(llvm::ArrayRef<unsigned> numbers,
                 llvm::function_ref<bool(unsigned, unsigned)> isWritten);
  Facts &factsOf(llvm::ArrayRef<unsigned> numbers);
  bool isReadOutside(unsigned number, unsigned result) const;

  const GroupGraph &graph;
  std::vector<Member> members; // by number
  llvm::DenseMap<mlir::Value, unsigned> values;
  llvm::StringMap<Facts> known;
  Facts unknown; // of what stands for nothing else
  llvm::SmallVector<unsigned> key;
  /// Which look at a set of operations has met an operation or a value last,
  /// or knew it as one to be written, and what the value is called there.
  std::vector<unsigned> operationMarks, valueMarks, writtenMarks, names;
  unsigned lastMark = 0;
};

} // namespace tenon::fusion

#endif // TENON_FUSION_KNOWNKERNELS_H
