//===- VerifyControlFlow.cpp - Constraints of control flow ---------------===//
//
// The verifiers of while, case, if, and of the operations that only pass values
// on or name others: optimization_barrier, tuple, get_tuple_element, composite
// and custom_call. Labels are the constraint numbers of the StableHLO
// specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tenon::stablehlo;

/// The results of `op` have the given types, one by one.
static LogicalResult checkResultTypes(Operation *op, Subject source,
                                      TypeRange expected) {
  if (failed(checkCount(op, "results", op->getNumResults(), expected.size(),
                        "one for each value that goes in")))
    return failure();
  for (int64_t i = 0, e = expected.size(); i < e; ++i)
    if (failed(checkSameType(op, {source.name, i}, expected[i], {"results", i},
                             op->getResult(i).getType())))
      return failure();
  return success();
}

LogicalResult WhileOp::verify() {
  SmallVector<Type> types(getOperand().getTypes());
  // while_c1
  Type predicate = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(checkRegionArguments(*this, "cond", getCond(), types)) ||
      failed(checkRegionResults(*this, "cond", getCond(), {predicate})))
    return failure();
  // while_c2
  if (failed(checkRegionArguments(*this, "body", getBody(), types)) ||
      failed(checkRegionResults(*this, "body", getBody(), types)))
    return failure();
  // while_c3
  return checkResultTypes(*this, "operand", types);
}

LogicalResult CaseOp::verify() {
  // case_c1
  if (getBranches().empty())
    return emitOpError("has no branches, expected at least one");
  SmallVector<Type> expected;
  for (auto [i, branch] : llvm::enumerate(getBranches())) {
    Subject name("branches", i);
    // case_c2
    if (failed(checkRegionArguments(*this, name, branch, {})))
      return failure();
    FailureOr<OperandRange> results = regionResults(*this, name, branch);
    if (failed(results))
      return failure();
    // case_c3
    if (i == 0)
      expected.assign(results->getTypes().begin(), results->getTypes().end());
    else if (failed(checkRegionResults(*this, name, branch, expected)))
      return failure();
  }
  // case_c4
  return checkRegionResults(*this, {"branches", 0}, getBranches().front(),
                            SmallVector<Type>(getResultTypes()));
}

LogicalResult IfOp::verify() {
  // if_c1
  if (failed(checkRegionArguments(*this, "true_branch", getTrueBranch(), {})) ||
      failed(checkRegionArguments(*this, "false_branch", getFalseBranch(), {})))
    return failure();
  // if_c2
  FailureOr<OperandRange> results =
      regionResults(*this, "true_branch", getTrueBranch());
  if (failed(results) ||
      failed(checkRegionResults(*this, "false_branch", getFalseBranch(),
                                SmallVector<Type>(results->getTypes()))))
    return failure();
  // if_c3
  return checkRegionResults(*this, "true_branch", getTrueBranch(),
                            SmallVector<Type>(getResultTypes()));
}

LogicalResult OptimizationBarrierOp::verify() {
  // optimization_barrier_c1
  return checkResultTypes(*this, "operand", getOperand().getTypes());
}

LogicalResult TupleOp::verify() {
  // tuple_c1
  Type expected = TupleType::get(getContext(), getVal().getTypes());
  if (getResult().getType() != expected)
    return emitOpError() << "'result' has type " << getResult().getType()
                         << ", expected " << expected;
  return success();
}

/// Whether a name is one or more words joined by dots, the first an identifier
/// that starts with a letter (`is_namespaced_op_name`).
static bool isNamespaced(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  if (parts.size() < 2 || parts[0].empty() || !llvm::isAlpha(parts[0][0]) ||
      parts[0].contains('$'))
    return false;
  return llvm::all_of(parts, [](StringRef part) {
    return !part.empty() && llvm::all_of(part, [](char c) {
      return llvm::isAlnum(c) || c == '_' || c == '$';
    });
  });
}

LogicalResult CompositeOp::verify() {
  // composite_c1
  if (!isNamespaced(getName()))
    return emitOpError() << "'name' is \"" << getName()
                         << "\", expected identifiers joined by dots, such as "
                            "\"my_namespace.my_operation\"";
  // composite_c2, composite_c3 and composite_c4 look up the decomposition:
  // verifySymbolUses in ControlOperations.cpp.
  return success();
}

LogicalResult GetTupleElementOp::verify() {
  auto tuple = cast<TupleType>(getOperand().getType());
  // get_tuple_element_c1
  int64_t index = int32_t(getIndex());
  if (index < 0 || index >= int64_t(tuple.size()))
    return emitOpError() << "'index' is " << index
                         << ", expected at least 0 and less than "
                         << tuple.size()
                         << ", the number of elements of 'operand'";
  // get_tuple_element_c2
  return checkSameType(*this, "operand", tuple.getType(index), "result",
                       getResult().getType());
}

/// Layouts are permutations, minor to major, one for each value of `types`,
/// which messages call `values`.
static LogicalResult checkLayouts(Operation *op, StringRef name,
                                  ArrayAttr layouts, StringRef values,
                                  TypeRange types) {
  if (failed(checkCount(op, {name, -1}, layouts.size(), types.size(),
                        "one for each value")))
    return failure();
  for (int64_t i = 0, e = layouts.size(); i < e; ++i) {
    auto layout = dyn_cast<DenseIntElementsAttr>(layouts[i]);
    auto tensor = dyn_cast<ShapedType>(types[i]);
    if (!layout || !layout.getElementType().isIndex())
      return op->emitOpError() << Subject(name, i) << " is " << layouts[i]
                               << ", expected a tensor of index";
    int64_t rank = tensor && tensor.hasRank() ? tensor.getRank() : 0;
    if (failed(checkCount(op, {name, i}, layout.getNumElements(), rank,
                          "one for each dimension")))
      return failure();
    SmallVector<int64_t> order;
    for (const APInt &dimension : layout.getValues<APInt>())
      order.push_back(dimension.getSExtValue());
    if (failed(checkDimensions(op, {name, i}, order, {values, i}, rank)) ||
        failed(checkUnique(op, {name, i}, order)))
      return failure();
  }
  return success();
}

/// The type at `path` inside nested tuples; null if there is none.
static Type typeAt(Type type, ArrayRef<int64_t> path) {
  for (int64_t index : path) {
    auto tuple = dyn_cast<TupleType>(type);
    if (!tuple || index < 0 || index >= int64_t(tuple.size()))
      return nullptr;
    type = tuple.getType(index);
  }
  return type;
}

static LogicalResult checkAlias(CustomCallOp op, int64_t i,
                                OutputOperandAliasAttr alias) {
  Subject name("output_operand_aliases", i);
  int64_t operandIndex = alias.getOperandIndex();
  int64_t operandCount = op.getInputs().size();
  if (operandIndex < 0 || operandIndex >= operandCount)
    return op.emitOpError()
           << name << " names operand " << operandIndex
           << ", expected at least 0 and less than " << operandCount;
  Type operand = typeAt(op.getInputs()[operandIndex].getType(),
                        alias.getOperandTupleIndices());
  ArrayRef<int64_t> path = alias.getOutputTupleIndices();
  // Several results, or one that is a tuple, are addressed by a path; one plain
  // result by the empty path.
  Type output;
  if (op.getNumResults() == 1) {
    output = typeAt(op.getResult(0).getType(), path);
  } else if (!path.empty() && path[0] >= 0 &&
             path[0] < int64_t(op.getNumResults())) {
    output = typeAt(op.getResult(path[0]).getType(), path.drop_front());
  }
  if (!operand || !output)
    return op.emitOpError() << name << " is " << alias << ", whose "
                            << (operand ? "output" : "operand")
                            << " tuple indices name no value";
  return checkSameType(op, "aliased operand", operand, "aliased output",
                       output);
}

LogicalResult CustomCallOp::verify() {
  std::optional<ArrayAttr> operandLayouts = getOperandLayouts();
  std::optional<ArrayAttr> resultLayouts = getResultLayouts();
  if (operandLayouts.has_value() != resultLayouts.has_value())
    return emitOpError() << "has "
                         << (operandLayouts ? "'operand_layouts'"
                                            : "'result_layouts'")
                         << " only, expected layouts for both operands and "
                            "results or for neither";
  if (operandLayouts) {
    SmallVector<Type> results(getResultTypes());
    // The layouts of one tuple are those of its elements.
    if (results.size() == 1)
      if (auto tuple = dyn_cast<TupleType>(results[0]))
        results.assign(tuple.begin(), tuple.end());
    if (failed(checkLayouts(*this, "operand_layouts", *operandLayouts, "inputs",
                            getInputs().getTypes())) ||
        failed(checkLayouts(*this, "result_layouts", *resultLayouts, "results",
                            results)))
      return failure();
  }
  if (ArrayAttr aliases = getOutputOperandAliasesAttr())
    for (auto [i, alias] : llvm::enumerate(aliases))
      if (failed(checkAlias(*this, i, cast<OutputOperandAliasAttr>(alias))))
        return failure();
  return success();
}
