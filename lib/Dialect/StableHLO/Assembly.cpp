//===- Assembly.cpp - Text directives of stablehlo operations -------------===//
//
// The pairs of parsers and printers that the declarative formats name.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"

using namespace mlir;

namespace tenon::stablehlo {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ParseResult parseSameTypes(OpAsmParser &parser,
                           MutableArrayRef<Type *> operandsAndResult) {
  SMLoc location = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  auto function = dyn_cast<FunctionType>(type);
  if (!function) {
    for (Type *each : operandsAndResult)
      *each = type;
    return success();
  }
  size_t count = operandsAndResult.size() - 1;
  if (function.getNumInputs() != count || function.getNumResults() != 1)
    return parser.emitError(location)
           << "expected " << count << " operand types and 1 result type, found "
           << function.getNumInputs() << " and " << function.getNumResults();
  for (auto [each, input] : llvm::zip(operandsAndResult, function.getInputs()))
    *each = input;
  *operandsAndResult.back() = function.getResult(0);
  return success();
}

static void printFunctionType(OpAsmPrinter &printer,
                              ArrayRef<Type> operandsAndResult) {
  printer.printFunctionalType(operandsAndResult.drop_back(),
                              operandsAndResult.take_back());
}

void printSameTypes(OpAsmPrinter &printer, ArrayRef<Type> operandsAndResult) {
  if (llvm::all_equal(operandsAndResult))
    printer << operandsAndResult.front();
  else
    printFunctionType(printer, operandsAndResult);
}

ParseResult
parseVariadicSameOperandsAndResultType(OpAsmParser &parser, Operands operands,
                                       SmallVectorImpl<Type> &operandTypes,
                                       Type &resultType) {
  operandTypes.resize(operands.size());
  SmallVector<Type *> all;
  for (Type &type : operandTypes)
    all.push_back(&type);
  all.push_back(&resultType);
  return parseSameTypes(parser, all);
}

void printVariadicSameOperandsAndResultType(OpAsmPrinter &printer, Operation *,
                                            OperandRange,
                                            TypeRange operandTypes,
                                            Type resultType) {
  SmallVector<Type> all(operandTypes);
  all.push_back(resultType);
  printSameTypes(printer, all);
}

ParseResult parsePairwiseOpType(OpAsmParser &parser,
                                SmallVectorImpl<Type> &operandTypes,
                                SmallVectorImpl<Type> &resultTypes) {
  if (parser.parseTypeList(operandTypes))
    return failure();
  resultTypes = operandTypes;
  return success();
}

void printPairwiseOpType(OpAsmPrinter &printer, Operation *, TypeRange,
                         TypeRange resultTypes) {
  printer << resultTypes;
}

ParseResult parseTupleOpType(OpAsmParser &parser,
                             SmallVectorImpl<Type> &operandTypes,
                             Type &resultType) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(resultType))
    return failure();
  auto tuple = dyn_cast<TupleType>(resultType);
  if (!tuple)
    return parser.emitError(location)
           << "expected a tuple type, found " << resultType;
  llvm::append_range(operandTypes, tuple.getTypes());
  return success();
}

void printTupleOpType(OpAsmPrinter &printer, Operation *, TypeRange,
                      Type resultType) {
  printer << resultType;
}

/// The type of the parts of a tensor of complex elements, null for others.
static Type partsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  auto complex = dyn_cast<ComplexType>(tensor.getElementType());
  return complex ? Type(tensor.clone(complex.getElementType())) : Type();
}

ParseResult parseComplexOpType(OpAsmParser &parser, Type &lhs, Type &rhs,
                               Type &result) {
  SMLoc location = parser.getCurrentLocation();
  Type *all[] = {&lhs, &rhs, &result};
  if (parseSameTypes(parser, all))
    return failure();
  if (lhs != result)
    return success();
  lhs = rhs = partsOf(result);
  if (!lhs)
    return parser.emitError(location)
           << "expected a tensor of complex elements, found " << result;
  return success();
}

void printComplexOpType(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs,
                        Type result) {
  Type part = partsOf(result);
  if (lhs == part && rhs == part)
    printer << result;
  else
    printFunctionType(printer, {lhs, rhs, result});
}

ParseResult parseSelectOpType(OpAsmParser &parser, Type &pred, Type &onTrue,
                              Type &onFalse, Type &result) {
  SMLoc location = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseTypeList(types))
    return failure();
  auto function = dyn_cast<FunctionType>(types.front());
  if (types.size() == 1 && function && function.getNumInputs() == 3 &&
      function.getNumResults() == 1) {
    pred = function.getInput(0);
    onTrue = function.getInput(1);
    onFalse = function.getInput(2);
    result = function.getResult(0);
    return success();
  }
  if (types.size() != 2 || function)
    return parser.emitError(location)
           << "expected the predicate's type and the values' type, or "
              "'(predicate, value, value) -> result'";
  pred = types[0];
  onTrue = onFalse = result = types[1];
  return success();
}

void printSelectOpType(OpAsmPrinter &printer, Operation *, Type pred,
                       Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result)
    printer << pred << ", " << result;
  else
    printFunctionType(printer, {pred, onTrue, onFalse, result});
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

ParseResult parseVariadicOperandWithAttribute(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult found = parser.parseOptionalOperand(operand);
    if (!found.has_value())
      return success();
    if (failed(*found) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

void printVariadicOperandWithAttribute(OpAsmPrinter &printer, Operation *,
                                       OperandRange operands) {
  llvm::interleave(
      operands, [&](Value operand) { printer << operand << ','; },
      [&] { printer << ' '; });
}

ParseResult parseVariadicOperandWithAttribute(
    OpAsmParser &parser, OpAsmParser::UnresolvedOperand &first,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &rest) {
  if (parser.parseOperand(first) || parser.parseComma() ||
      parseVariadicOperandWithAttribute(parser, rest))
    return failure();
  // Some printers leave an empty place where there are no more operands.
  if (rest.empty())
    (void)parser.parseOptionalComma();
  return success();
}

void printVariadicOperandWithAttribute(OpAsmPrinter &printer, Operation *op,
                                       Value first, OperandRange rest) {
  printer << first << ',';
  if (!rest.empty())
    printer << ' ';
  printVariadicOperandWithAttribute(printer, op, rest);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

ParseResult parseIntegerList(AsmParser &parser,
                             SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

void printIntegerList(AsmPrinter &printer, ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer.getStream());
  printer << ']';
}

ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                             DenseI64ArrayAttr &limits,
                             DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    stride.push_back(1);
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limit.emplace_back()))
      return failure();
    if (failed(parser.parseOptionalColon()))
      return success();
    return parser.parseInteger(stride.back());
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  starts = builder.getDenseI64ArrayAttr(start);
  limits = builder.getDenseI64ArrayAttr(limit);
  strides = builder.getDenseI64ArrayAttr(stride);
  return success();
}

void printSliceRanges(OpAsmPrinter &printer, Operation *,
                      DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                      DenseI64ArrayAttr strides) {
  printer << '[';
  llvm::interleaveComma(
      llvm::zip(starts.asArrayRef(), limits.asArrayRef(), strides.asArrayRef()),
      printer, [&](auto range) {
        auto [start, limit, stride] = range;
        printer << start << ':' << limit;
        if (stride != 1)
          printer << ':' << stride;
      });
  printer << ']';
}

ParseResult parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent,
                                  IntegerAttr &mantissa) {
  SMLoc location = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  StringRef rest = text;
  uint32_t exponentBits = 0, mantissaBits = 0;
  bool matches = rest.consume_front("e") &&
                 !rest.consumeInteger(10, exponentBits) &&
                 rest.consume_front("m") &&
                 !rest.consumeInteger(10, mantissaBits) && rest.empty();
  if (!matches)
    return parser.emitError(location)
           << "expected a format like e5m10, found '" << text << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void printExponentMantissa(OpAsmPrinter &printer, Operation *,
                           IntegerAttr exponent, IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseCustomCallTarget(OpAsmParser &parser, StringAttr &target) {
  return parser.parseSymbolName(target);
}

void printCustomCallTarget(OpAsmPrinter &printer, Operation *,
                           StringAttr target) {
  printer.printSymbolName(target.getValue());
}

/// `keyword = [..] x [..]`, the keyword being read already.
static ParseResult parseListPair(OpAsmParser &parser,
                                 SmallVectorImpl<int64_t> &lhs,
                                 SmallVectorImpl<int64_t> &rhs) {
  return failure(parser.parseEqual() || parseIntegerList(parser, lhs) ||
                 parser.parseKeyword("x") || parseIntegerList(parser, rhs));
}

ParseResult parseDotDimensionNumbers(OpAsmParser &parser,
                                     DotDimensionNumbersAttr &numbers) {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  if (succeeded(parser.parseOptionalKeyword("batching_dims")))
    if (parseListPair(parser, lhsBatch, rhsBatch) || parser.parseComma())
      return failure();
  if (parser.parseKeyword("contracting_dims") ||
      parseListPair(parser, lhsContract, rhsContract))
    return failure();
  numbers = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatch,
                                         rhsBatch, lhsContract, rhsContract);
  return success();
}

void printDotDimensionNumbers(OpAsmPrinter &printer, Operation *,
                              DotDimensionNumbersAttr numbers) {
  auto printPair = [&](StringRef keyword, ArrayRef<int64_t> lhs,
                       ArrayRef<int64_t> rhs) {
    printer << keyword << " = ";
    printIntegerList(printer, lhs);
    printer << " x ";
    printIntegerList(printer, rhs);
  };
  if (!numbers.getLhsBatchingDimensions().empty() ||
      !numbers.getRhsBatchingDimensions().empty()) {
    printPair("batching_dims", numbers.getLhsBatchingDimensions(),
              numbers.getRhsBatchingDimensions());
    printer << ", ";
  }
  printPair("contracting_dims", numbers.getLhsContractingDimensions(),
            numbers.getRhsContractingDimensions());
}

static ParseResult parsePrecisions(OpAsmParser &parser, ArrayAttr &precision) {
  SmallVector<Attribute> entries;
  auto parseEntry = [&]() -> ParseResult {
    SMLoc location = parser.getCurrentLocation();
    StringRef text;
    if (parser.parseKeyword(&text))
      return failure();
    std::optional<Precision> entry = symbolizePrecision(text);
    if (!entry)
      return parser.emitError(location)
             << "expected DEFAULT, HIGH or HIGHEST, found '" << text << "'";
    entries.push_back(PrecisionAttr::get(parser.getContext(), *entry));
    return success();
  };
  if (parser.parseEqual() || parser.parseCommaSeparatedList(
                                 OpAsmParser::Delimiter::Square, parseEntry))
    return failure();
  precision = parser.getBuilder().getArrayAttr(entries);
  return success();
}

ParseResult parsePrecisionConfig(OpAsmParser &parser, ArrayAttr &precision) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("precision") ||
                 parsePrecisions(parser, precision));
}

void printPrecisionConfig(OpAsmPrinter &printer, Operation *,
                          ArrayAttr precision) {
  if (!precision || precision.empty())
    return;
  printer << ", precision = [";
  llvm::interleaveComma(precision, printer, [&](Attribute entry) {
    printer << stringifyPrecision(cast<PrecisionAttr>(entry).getValue());
  });
  printer << ']';
}

ParseResult parsePrecisionConfigAndAlgorithm(OpAsmParser &parser,
                                             ArrayAttr &precision,
                                             DotAlgorithmAttr &algorithm) {
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    if (parsePrecisions(parser, precision))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword("algorithm") || parser.parseEqual())
    return failure();
  Attribute attribute = DotAlgorithmAttr::parse(parser, {});
  algorithm = dyn_cast_or_null<DotAlgorithmAttr>(attribute);
  if (!algorithm)
    return parser.emitError(location, "expected 'algorithm = <...>'");
  return success();
}

void printPrecisionConfigAndAlgorithm(OpAsmPrinter &printer, Operation *op,
                                      ArrayAttr precision,
                                      DotAlgorithmAttr algorithm) {
  printPrecisionConfig(printer, op, precision);
  if (!algorithm)
    return;
  printer << ", algorithm = ";
  algorithm.print(printer);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// `[[0, 1], [2, 2]]`, one pair of low and high padding per dimension.
static ParseResult parsePadding(OpAsmParser &parser,
                                DenseIntElementsAttr &padding) {
  SmallVector<int64_t> values;
  int64_t rows = 0;
  SMLoc location = parser.getCurrentLocation();
  auto parseRow = [&]() -> ParseResult {
    ++rows;
    return parseIntegerList(parser, values);
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseRow))
    return failure();
  if (static_cast<int64_t>(values.size()) != 2 * rows)
    return parser.emitError(location)
           << "expected two paddings for each of " << rows
           << " dimensions, found " << values.size();
  Builder &builder = parser.getBuilder();
  auto type = RankedTensorType::get({rows, 2}, builder.getI64Type());
  padding = DenseIntElementsAttr::get(type, values);
  return success();
}

static void printPadding(OpAsmPrinter &printer, DenseIntElementsAttr padding) {
  printer << '[';
  SmallVector<int64_t> values(padding.getValues<int64_t>());
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    printer << (i ? ", [" : "[") << values[i] << ", " << values[i + 1] << ']';
  printer << ']';
}

/// `[false, true]`, or `[0, 1]` as older dumps have it.
static ParseResult parseBooleanList(OpAsmParser &parser,
                                    DenseBoolArrayAttr &list) {
  SmallVector<bool> values;
  auto parseValue = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("true"))) {
      values.push_back(true);
      return success();
    }
    if (succeeded(parser.parseOptionalKeyword("false"))) {
      values.push_back(false);
      return success();
    }
    int64_t number;
    if (parser.parseInteger(number))
      return failure();
    values.push_back(number != 0);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseValue))
    return failure();
  list = parser.getBuilder().getDenseBoolArrayAttr(values);
  return success();
}

static ParseResult parseArray(OpAsmParser &parser, DenseI64ArrayAttr &array) {
  SmallVector<int64_t> values;
  if (parseIntegerList(parser, values))
    return failure();
  array = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

ParseResult parseWindowAttributes(OpAsmParser &parser,
                                  DenseI64ArrayAttr &strides,
                                  DenseIntElementsAttr &padding,
                                  DenseI64ArrayAttr &lhsDilation,
                                  DenseI64ArrayAttr &rhsDilation,
                                  DenseBoolArrayAttr &reversal) {
  do {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name)))
      return success();
    bool repeated = (name == "stride" && strides) ||
                    (name == "pad" && padding) ||
                    (name == "lhs_dilate" && lhsDilation) ||
                    (name == "rhs_dilate" && rhsDilation) ||
                    (name == "reverse" && reversal);
    if (repeated)
      return parser.emitError(location) << "'" << name << "' is given twice";
    if (parser.parseEqual())
      return failure();
    ParseResult parsed = success();
    if (name == "stride")
      parsed = parseArray(parser, strides);
    else if (name == "pad")
      parsed = parsePadding(parser, padding);
    else if (name == "lhs_dilate")
      parsed = parseArray(parser, lhsDilation);
    else if (name == "rhs_dilate")
      parsed = parseArray(parser, rhsDilation);
    else if (name == "reverse")
      parsed = parseBooleanList(parser, reversal);
    else
      return parser.emitError(location) << "expected stride, pad, lhs_dilate, "
                                           "rhs_dilate or reverse, found '"
                                        << name << "'";
    if (failed(parsed))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

void printWindowAttributes(OpAsmPrinter &printer, Operation *,
                           DenseI64ArrayAttr strides,
                           DenseIntElementsAttr padding,
                           DenseI64ArrayAttr lhsDilation,
                           DenseI64ArrayAttr rhsDilation,
                           DenseBoolArrayAttr reversal) {
  StringRef separator;
  auto start = [&](StringRef name) {
    printer << separator << name << " = ";
    separator = ", ";
  };
  auto printArray = [&](StringRef name, DenseI64ArrayAttr array) {
    if (!array)
      return;
    start(name);
    printIntegerList(printer, array.asArrayRef());
  };
  printArray("stride", strides);
  if (padding) {
    start("pad");
    printPadding(printer, padding);
  }
  printArray("lhs_dilate", lhsDilation);
  printArray("rhs_dilate", rhsDilation);
  if (reversal) {
    start("reverse");
    printer << '[';
    llvm::interleaveComma(reversal.asArrayRef(), printer, [&](bool value) {
      printer << (value ? "true" : "false");
    });
    printer << ']';
  }
}

} // namespace tenon::stablehlo
