//===- ProgramOrder.h - The instructions of a program, numbered ----------===//
//
// Private to this folder: a program as the list that the plan in its file
// speaks of, in which every instruction comes before those of its blocks.
//
//     0  launch
//     1  while             its blocks are {2} (the condition) and {3, 4} (the
//     2    launch          body); it ends before 5
//     3    launch
//     4    copy
//     5  launch            in no block: 0, 1 and 5
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_PACKAGE_PROGRAMORDER_H
#define TENON_LIB_PACKAGE_PROGRAMORDER_H

#include "tenon/Format/Index.h"

#include <vector>

namespace tenon::package {

struct ProgramOrder {
  using Numbers = std::vector<size_t>;
  struct Entry {
    const format::Instruction *instruction;
    /// Of a loop (condition, body) or conditional (its branches).
    std::vector<Numbers> blocks;
    size_t end; // behind the last instruction of its blocks
  };
  std::vector<Entry> entries;
  Numbers top; // those in no block

  /// The entry point has a plan.
  explicit ProgramOrder(const format::EntryPoint &entry)
      : entry(entry), plan(*entry.plan) {
    top = list(entry.program);
  }

  const format::EntryPoint &entry;
  const format::Plan &plan;

private:
  Numbers list(const format::Block &block) {
    Numbers numbers;
    for (const format::Instruction &instruction : block.instructions) {
      size_t number = entries.size();
      numbers.push_back(number);
      entries.push_back({&instruction, {}, 0});
      std::vector<Numbers> blocks;
      for (const format::Block &inner : instruction.blocks)
        blocks.push_back(list(inner));
      entries[number].blocks = std::move(blocks);
      entries[number].end = entries.size();
    }
    return numbers;
  }
};

} // namespace tenon::package

#endif // TENON_LIB_PACKAGE_PROGRAMORDER_H
