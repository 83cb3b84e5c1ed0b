//===- RegionAssembly.cpp - Text of constant, reduce and while ------------===//
//
// The three operations whose text no declarative format can say. A reduction
// whose region is one commutative operation is written as that operation's
// name; a loop names its values once for both regions.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

// `stablehlo.constant {attributes} dense<...> : type`, or
// `stablehlo.constant() {value = ...} : () -> type` where the result's type is
// not the value's, as with quantized elements.

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  if (succeeded(parser.parseOptionalLParen())) {
    Type type;
    if (parser.parseRParen() ||
        parser.parseOptionalAttrDict(result.attributes) ||
        parser.parseColon() || parser.parseLParen() || parser.parseRParen() ||
        parser.parseArrow() || parser.parseType(type))
      return failure();
    result.addTypes(type);
    return success();
  }
  ElementsAttr value;
  SMLoc location;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.getCurrentLocation(&location))
    return failure();
  Attribute attribute;
  if (parser.parseAttribute(attribute))
    return failure();
  value = dyn_cast<ElementsAttr>(attribute);
  if (!value)
    return parser.emitError(location)
           << "expected the elements of a tensor, found " << attribute;
  result.attributes.set(getValueAttrName(result.name), value);
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  if (getValue().getType() != getOutput().getType()) {
    printer << "()";
    printer.printOptionalAttrDict((*this)->getAttrs());
    printer << " : () -> " << getOutput().getType();
    return;
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {getValueAttrName()});
  printer << ' ' << getValueAttr();
}

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  Type elementType = getOutput().getType().getElementType();
  setName(getOutput(), isa<IntegerType>(elementType) ? "c" : "cst");
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// The operation that is the whole region, if it can be written by name: then
/// parsing the name gives the same region again.
static Operation *wholeRegion(ReduceOp op) {
  Block &block = op.getBody().front();
  if (op.getInputs().size() != 1 || !llvm::hasNItems(block, 2))
    return nullptr;
  Operation &inner = block.front();
  Type type = op.getInitValues().front().getType();
  bool plain = inner.getDialect() == op->getDialect() &&
               inner.hasTrait<Commutative>() && inner.getAttrs().empty();
  bool inOrder = inner.getNumOperands() == 2 && inner.getNumResults() == 1 &&
                 llvm::equal(inner.getOperands(), block.getArguments());
  if (!plain || !inOrder || inner.getResult(0).getType() != type ||
      llvm::any_of(block.getArgumentTypes(),
                   [&](Type argument) { return argument != type; }))
    return nullptr;
  Operation *terminator = block.getTerminator();
  if (!isa<ReturnOp>(terminator) || !terminator->getAttrs().empty() ||
      !llvm::equal(terminator->getOperands(), inner.getResults()))
    return nullptr;
  return &inner;
}

void ReduceOp::print(OpAsmPrinter &printer) {
  size_t count = getInputs().size();
  printer << '(';
  for (size_t i = 0; i < count; ++i)
    printer << (i ? ", (" : "") << getInputs()[i]
            << " init: " << getInitValues()[i] << ')';
  Operation *inner = wholeRegion(*this);
  if (inner)
    printer << " applies " << inner->getName();
  printer << " across dimensions = ";
  printIntegerList(printer, getDimensions());
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimensionsAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (inner)
    return;

  // One pair of accumulator and element per input.
  printer.printNewline();
  printer << " reducer";
  Block &block = getBody().front();
  for (size_t i = 0; i < count; ++i) {
    printer << '(';
    printer.printRegionArgument(block.getArgument(i));
    printer << ", ";
    printer.printRegionArgument(block.getArgument(i + count));
    printer << ") ";
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Fills the region of a reduction that is written by an operation's name.
static ParseResult buildWholeRegion(OpAsmParser &parser, SMLoc location,
                                    OperationName inner, FunctionType type,
                                    OperationState &result) {
  if (type.getNumInputs() != 2)
    return parser.emitError(location)
           << "a reduction by name takes one input, found "
           << type.getNumInputs() / 2;
  if (!inner.isRegistered() || !inner.hasTrait<Commutative>())
    return parser.emitError(location)
           << "expected a commutative operation of stablehlo, found '" << inner
           << "'";
  Type scalar = type.getInput(1);
  Region &region = *result.addRegion();
  Block &block = region.emplaceBlock();
  block.addArguments({scalar, scalar}, {result.location, result.location});
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  OperationState state(result.location, inner);
  state.addOperands(block.getArguments());
  state.addTypes(scalar);
  ReturnOp::create(builder, result.location,
                   builder.create(state)->getResults());
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  using Operand = OpAsmParser::UnresolvedOperand;
  SmallVector<Operand> inputs, inits;
  SMLoc start = parser.getCurrentLocation();
  auto parsePair = [&]() -> ParseResult {
    return failure(
        parser.parseLParen() || parser.parseOperand(inputs.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen());
  };
  if (parser.parseCommaSeparatedList(parsePair))
    return failure();

  std::optional<OperationName> inner;
  SMLoc innerLocation;
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    innerLocation = parser.getCurrentLocation();
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    inner = *name;
  }

  SmallVector<int64_t> dimensions;
  FunctionType type;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") ||
      parser.parseEqual() || parseIntegerList(parser, dimensions) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  result.attributes.set(getDimensionsAttrName(result.name),
                        parser.getBuilder().getDenseI64ArrayAttr(dimensions));
  result.addTypes(type.getResults());
  SmallVector<Operand> operands = inputs;
  llvm::append_range(operands, inits);
  if (parser.resolveOperands(operands, type.getInputs(), start,
                             result.operands))
    return failure();

  if (inner) {
    // What the name stands for is where the reduction is.
    std::optional<Location> location;
    if (parser.parseOptionalLocationSpecifier(location))
      return failure();
    if (location)
      result.location = *location;
    return buildWholeRegion(parser, innerLocation, *inner, type, result);
  }

  SmallVector<OpAsmParser::Argument> accumulators, elements;
  if (parser.parseKeyword("reducer"))
    return failure();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (parser.parseLParen() ||
        parser.parseArgument(accumulators.emplace_back(), /*allowType=*/true) ||
        parser.parseComma() ||
        parser.parseArgument(elements.emplace_back(), /*allowType=*/true) ||
        parser.parseRParen())
      return failure();
  llvm::append_range(accumulators, elements);
  return parser.parseRegion(*result.addRegion(), accumulators);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

void WhileOp::print(OpAsmPrinter &printer) {
  Block &condition = getCond().front();
  printer << '(';
  llvm::interleaveComma(llvm::zip(condition.getArguments(), getOperand()),
                        printer, [&](auto pair) {
                          printer.printOperand(std::get<0>(pair));
                          printer << " = ";
                          printer.printOperand(std::get<1>(pair));
                        });
  printer << ')';
  if (!getOperand().empty())
    printer << " : " << getOperand().getTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.shadowRegionArgs(getBody(), condition.getArguments());
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SMLoc start = parser.getCurrentLocation();
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parsePair))
    return failure();
  if (!operands.empty() && parser.parseColonTypeList(result.types))
    return failure();
  if (operands.size() != result.types.size())
    return parser.emitError(start) << "expected " << operands.size()
                                   << " types, found " << result.types.size();
  for (auto [argument, type] : llvm::zip(arguments, result.types))
    argument.type = type;
  if (parser.resolveOperands(operands, result.types, start, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseKeyword("cond") ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseKeyword("do") ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();

  // The loop's values are where the loop is; the text gives them no place.
  std::optional<Location> location;
  if (parser.parseOptionalLocationSpecifier(location))
    return failure();
  if (location)
    result.location = *location;
  for (const std::unique_ptr<Region> &region : result.regions)
    for (BlockArgument argument : region->getArguments())
      argument.setLoc(result.location);
  return success();
}

void WhileOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "iterArg");
}
