//===- LoopTable.cpp - The ways to run the body of a loop ----------------===//
//
// See LoopTable.h.
//
//===----------------------------------------------------------------------===//

#include "LoopTable.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

std::vector<LoopRow> memory::readLoopRows(Operation *loop) {
  std::vector<LoopRow> rows;
  auto table = loop->getAttrOfType<ArrayAttr>(step::loopRowsAttrName);
  if (!table)
    return rows;
  for (auto entry : table.getAsRange<DictionaryAttr>()) {
    auto integer = [&](StringRef name) {
      return entry.getAs<IntegerAttr>(name).getInt();
    };
    LoopRow &row = rows.emplace_back();
    row.bytes = integer("bytes");
    row.nanoseconds = integer("nanoseconds");
    llvm::append_range(row.order,
                       entry.getAs<DenseI32ArrayAttr>("order").asArrayRef());
    llvm::append_range(row.rows,
                       entry.getAs<DenseI32ArrayAttr>("rows").asArrayRef());
  }
  return rows;
}

std::vector<LoopFloor> memory::readLoopFloors(Operation *loop) {
  std::vector<LoopFloor> floors;
  auto table = loop->getAttrOfType<ArrayAttr>(step::loopFloorsAttrName);
  if (!table)
    return floors;
  for (auto entry : table.getAsRange<DictionaryAttr>())
    floors.push_back({entry.getAs<IntegerAttr>("bytes").getInt(),
                      entry.getAs<IntegerAttr>("nanoseconds").getInt()});
  return floors;
}

void memory::writeLoopTable(Operation *loop, ArrayRef<LoopRow> rows,
                            ArrayRef<LoopFloor> floors) {
  Builder builder(loop->getContext());
  SmallVector<Attribute> table;
  for (const LoopRow &row : rows)
    table.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("bytes", builder.getI64IntegerAttr(row.bytes)),
         builder.getNamedAttr("nanoseconds",
                              builder.getI64IntegerAttr(row.nanoseconds)),
         builder.getNamedAttr("order", builder.getDenseI32ArrayAttr(row.order)),
         builder.getNamedAttr("rows",
                              builder.getDenseI32ArrayAttr(row.rows))}));
  loop->setAttr(step::loopRowsAttrName, builder.getArrayAttr(table));
  table.clear();
  for (const LoopFloor &floor : floors)
    table.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("bytes", builder.getI64IntegerAttr(floor.bytes)),
         builder.getNamedAttr("nanoseconds",
                              builder.getI64IntegerAttr(floor.nanoseconds))}));
  if (!floors.empty())
    loop->setAttr(step::loopFloorsAttrName, builder.getArrayAttr(table));
}

int64_t memory::nanosecondsOf(Operation *op) {
  double sum = sumOverRuns(op, [](Operation *nested) {
    auto time = nested->getAttrOfType<IntegerAttr>(step::nanosecondsAttrName);
    return time ? double(time.getInt()) : 0.0;
  });
  return std::max<int64_t>(1, std::llround(sum));
}
