//===- Check.cpp - Programs that test themselves --------------------------===//
//
// Registration, text and verifiers of the check and interpreter dialects.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Check/Check.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OpImplementation.h"

#include "tenon/Dialect/Check/CheckDialect.cpp.inc"
#include "tenon/Dialect/Check/InterpreterDialect.cpp.inc"

// The generated predicates name the element kinds without their namespace.
using tenon::stablehlo::kPerAxisQuantized, tenon::stablehlo::kTensor;

#define GET_OP_CLASSES
#include "tenon/Dialect/Check/CheckOps.cpp.inc"

using namespace mlir;
using namespace tenon;
using namespace tenon::check;

void CheckDialect::initialize() {
  addOperations<ExpectEqOp, ExpectEqConstOp, ExpectAlmostEqOp,
                ExpectAlmostEqConstOp, ExpectCloseOp, ExpectCloseConstOp>();
}

void InterpreterDialect::initialize() { addOperations<RunParallelOp>(); }

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// `%lhs, %rhs {attributes} : type[, type]`, or a functional type.
static ParseResult parsePair(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand, 2> operands;
  SmallVector<Type, 2> types;
  llvm::SMLoc where = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, 2) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonTypeList(types))
    return failure();
  if (types.size() == 1)
    types.push_back(types.front());
  return parser.resolveOperands(operands, types, where, state.operands);
}

static void printPair(Operation *op, OpAsmPrinter &printer) {
  printer << ' ' << op->getOperand(0) << ", " << op->getOperand(1);
  printer.printOptionalAttrDict(op->getAttrs());
  printer << " : " << op->getOperand(0).getType() << ", "
          << op->getOperand(1).getType();
}

/// `%lhs, dense<...> : type {attributes}`.
static ParseResult parseConst(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  ElementsAttr value;
  if (parser.parseOperand(operand) || parser.parseComma() ||
      parser.parseAttribute(value, "value", state.attributes) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  return parser.resolveOperand(operand, value.getType(), state.operands);
}

static void printConst(Operation *op, OpAsmPrinter &printer) {
  printer << ' ' << op->getOperand(0) << ", " << op->getAttr("value");
  printer.printOptionalAttrDict(op->getAttrs(), {"value"});
}

static LogicalResult checkTypes(Operation *op, Type found, Type expected) {
  if (stablehlo::areCompatibleTypes(found, expected))
    return success();
  return op->emitOpError() << "compares " << found << " with " << expected;
}

#define TENON_PAIR_OPERATION(Op)                                               \
  ParseResult Op::parse(OpAsmParser &parser, OperationState &state) {          \
    return parsePair(parser, state);                                           \
  }                                                                            \
  void Op::print(OpAsmPrinter &printer) { printPair(*this, printer); }         \
  LogicalResult Op::verify() {                                                 \
    return checkTypes(*this, getLhs().getType(), getRhs().getType());          \
  }

#define TENON_CONST_OPERATION(Op)                                              \
  ParseResult Op::parse(OpAsmParser &parser, OperationState &state) {          \
    return parseConst(parser, state);                                          \
  }                                                                            \
  void Op::print(OpAsmPrinter &printer) { printConst(*this, printer); }        \
  LogicalResult Op::verify() {                                                 \
    return checkTypes(*this, getLhs().getType(), getValue().getType());        \
  }

TENON_PAIR_OPERATION(ExpectEqOp)
TENON_PAIR_OPERATION(ExpectAlmostEqOp)
TENON_PAIR_OPERATION(ExpectCloseOp)
TENON_CONST_OPERATION(ExpectEqConstOp)
TENON_CONST_OPERATION(ExpectAlmostEqConstOp)
TENON_CONST_OPERATION(ExpectCloseConstOp)

#undef TENON_PAIR_OPERATION
#undef TENON_CONST_OPERATION

//===----------------------------------------------------------------------===//
// Expectations
//===----------------------------------------------------------------------===//

std::optional<Expectation> check::expectationOf(Operation *op) {
  Expectation expectation{op};
  StringRef name = op->getName().getStringRef();
  DictionaryAttr attributes = op->getAttrDictionary();
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op)) {
    name = call.getCallTargetName();
    // Exporters put what the operation has as attributes into the call's.
    if (auto config = dyn_cast_or_null<DictionaryAttr>(
            call.getBackendConfig().value_or(Attribute())))
      attributes = config;
  }
  if (!name.consume_front("check.expect_"))
    return std::nullopt;
  bool isConst = name.consume_back("_const");
  if (name == "almost_eq")
    expectation.closeness = Closeness::almostEqual;
  else if (name == "close")
    expectation.closeness = Closeness::close;
  else if (name != "eq")
    return std::nullopt;
  if (op->getNumOperands() != (isConst ? 1u : 2u))
    return std::nullopt;
  expectation.found = op->getOperand(0);
  if (isConst) {
    expectation.constant = attributes.getAs<ElementsAttr>("value");
    if (!expectation.constant)
      return std::nullopt;
  } else {
    expectation.expected = op->getOperand(1);
  }
  if (auto tolerance = attributes.getAs<FloatAttr>("tolerance"))
    expectation.tolerance = tolerance.getValueAsDouble();
  if (auto units = attributes.getAs<IntegerAttr>("max_ulp_difference"))
    expectation.maxUnits = units.getValue().getZExtValue();
  if (auto units = attributes.getAs<IntegerAttr>("min_ulp_difference"))
    expectation.minUnits = units.getValue().getZExtValue();
  return expectation;
}

//===----------------------------------------------------------------------===//
// run_parallel
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<SmallVector<StringAttr>>>
check::programsOf(RunParallelOp op) {
  SmallVector<SmallVector<StringAttr>> programs;
  for (Attribute row : op.getPrograms()) {
    auto names = dyn_cast<ArrayAttr>(row);
    if (!names || names.empty())
      return op.emitOpError("expected 'programs' to hold rows of functions");
    SmallVector<StringAttr> partitions;
    for (Attribute name : names) {
      auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
      auto text = symbol ? symbol.getAttr() : dyn_cast<StringAttr>(name);
      if (!text)
        return op.emitOpError("expected 'programs' to name functions, found ")
               << name;
      partitions.push_back(text);
    }
    programs.push_back(std::move(partitions));
    if (programs.back().size() != programs.front().size())
      return op.emitOpError("has rows of ")
             << programs.front().size() << " and of " << programs.back().size()
             << " programs, expected as many partitions for each replica";
  }
  if (programs.empty())
    return op.emitOpError("has no programs");
  return programs;
}

LogicalResult RunParallelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto programs = programsOf(*this);
  if (failed(programs))
    return failure();
  SmallVector<Type> arguments, results;
  for (ArrayRef<StringAttr> row : *programs)
    for (StringAttr name : row) {
      auto function =
          symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, name);
      if (!function)
        return emitOpError("runs @")
               << name.getValue() << ", which the module does not have";
      llvm::append_range(arguments, function.getArgumentTypes());
      llvm::append_range(results, function.getResultTypes());
    }
  auto feed = getInfeed();
  for (Attribute attribute : feed ? feed->getValue() : ArrayRef<Attribute>()) {
    auto name = cast<FlatSymbolRefAttr>(attribute);
    auto function =
        symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, name.getAttr());
    if (!function || function.getNumArguments() != 0 || function.isExternal() ||
        !function.getBody().hasOneBlock())
      return emitOpError("is fed by @")
             << name.getValue()
             << ", expected a function of one block without arguments";
  }
  if (!llvm::equal(arguments, getInputs().getTypes()) ||
      !llvm::equal(results, getResultTypes()))
    return emitOpError("has ")
           << getNumOperands() << " operands and " << getNumResults()
           << " results, its programs take " << arguments.size()
           << " and return " << results.size()
           << ", of these types: " << arguments << " to " << results;
  return success();
}
