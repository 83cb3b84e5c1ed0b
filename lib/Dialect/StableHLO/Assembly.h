//===- Assembly.h - Text directives of stablehlo operations ---------------===//
//
// Parsers and printers that the declarative formats in the .td files name: for
// a directive `custom<X>(...)` the pair parseX, printX.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DIALECT_STABLEHLO_ASSEMBLY_H
#define TENON_LIB_DIALECT_STABLEHLO_ASSEMBLY_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

namespace tenon::stablehlo {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// One type if all operands and the result have it, `(types) -> type`
/// otherwise. The result is the last entry.
mlir::ParseResult
parseSameTypes(mlir::OpAsmParser &parser,
               llvm::MutableArrayRef<mlir::Type *> operandsAndResult);
void printSameTypes(mlir::OpAsmPrinter &printer,
                    llvm::ArrayRef<mlir::Type> operandsAndResult);

template <typename... Types>
mlir::ParseResult parseSameOperandsAndResultType(mlir::OpAsmParser &parser,
                                                 Types &...types) {
  mlir::Type *all[] = {&types...};
  return parseSameTypes(parser, all);
}
template <typename... Types>
void printSameOperandsAndResultType(mlir::OpAsmPrinter &printer,
                                    mlir::Operation *, Types... types) {
  mlir::Type all[] = {types...};
  printSameTypes(printer, all);
}

using Operands = llvm::ArrayRef<mlir::OpAsmParser::UnresolvedOperand>;

/// The same for a variable number of operands.
mlir::ParseResult parseVariadicSameOperandsAndResultType(
    mlir::OpAsmParser &parser, Operands operands,
    llvm::SmallVectorImpl<mlir::Type> &operandTypes, mlir::Type &resultType);
void printVariadicSameOperandsAndResultType(mlir::OpAsmPrinter &printer,
                                            mlir::Operation *op,
                                            mlir::OperandRange operands,
                                            mlir::TypeRange operandTypes,
                                            mlir::Type resultType);

/// `t0, t1`: each operand and the result of the same number have one type.
mlir::ParseResult
parsePairwiseOpType(mlir::OpAsmParser &parser,
                    llvm::SmallVectorImpl<mlir::Type> &operandTypes,
                    llvm::SmallVectorImpl<mlir::Type> &resultTypes);
void printPairwiseOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                         mlir::TypeRange operandTypes,
                         mlir::TypeRange resultTypes);

/// The tuple's type, which tells the operands'.
mlir::ParseResult
parseTupleOpType(mlir::OpAsmParser &parser,
                 llvm::SmallVectorImpl<mlir::Type> &operandTypes,
                 mlir::Type &resultType);
void printTupleOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::TypeRange operandTypes, mlir::Type resultType);

/// The complex result's type if it tells the operands', else all types.
mlir::ParseResult parseComplexOpType(mlir::OpAsmParser &parser, mlir::Type &lhs,
                                     mlir::Type &rhs, mlir::Type &result);
void printComplexOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                        mlir::Type lhs, mlir::Type rhs, mlir::Type result);

/// `predicate type, value type`, or all types if the values' differ.
mlir::ParseResult parseSelectOpType(mlir::OpAsmParser &parser, mlir::Type &pred,
                                    mlir::Type &onTrue, mlir::Type &onFalse,
                                    mlir::Type &result);
void printSelectOpType(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                       mlir::Type pred, mlir::Type onTrue, mlir::Type onFalse,
                       mlir::Type result);

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Operands with a comma after each, for an attribute that follows them.
mlir::ParseResult parseVariadicOperandWithAttribute(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands);
void printVariadicOperandWithAttribute(mlir::OpAsmPrinter &printer,
                                       mlir::Operation *op,
                                       mlir::OperandRange operands);
mlir::ParseResult parseVariadicOperandWithAttribute(
    mlir::OpAsmParser &parser, mlir::OpAsmParser::UnresolvedOperand &first,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &rest);
void printVariadicOperandWithAttribute(mlir::OpAsmPrinter &printer,
                                       mlir::Operation *op, mlir::Value first,
                                       mlir::OperandRange rest);

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The bare name of an enumerator, `LT`.
template <typename EnumAttr>
mlir::ParseResult parseEnumName(mlir::OpAsmParser &parser,
                                EnumAttr &attribute) {
  using Enum = decltype(attribute.getValue());
  mlir::FailureOr<Enum> value = mlir::FieldParser<Enum>::parse(parser);
  if (failed(value))
    return mlir::failure();
  attribute = EnumAttr::get(parser.getContext(), *value);
  return mlir::success();
}
template <typename EnumAttr>
void printEnumName(mlir::OpAsmPrinter &printer, mlir::Operation *,
                   EnumAttr attribute) {
  printer << attribute.getValue();
}

/// `[0:8, 2:10:2]`: start, limit, and stride unless it is one.
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser,
                                   mlir::DenseI64ArrayAttr &starts,
                                   mlir::DenseI64ArrayAttr &limits,
                                   mlir::DenseI64ArrayAttr &strides);
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::DenseI64ArrayAttr starts,
                      mlir::DenseI64ArrayAttr limits,
                      mlir::DenseI64ArrayAttr strides);

/// `e5m10`.
mlir::ParseResult parseExponentMantissa(mlir::OpAsmParser &parser,
                                        mlir::IntegerAttr &exponent,
                                        mlir::IntegerAttr &mantissa);
void printExponentMantissa(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                           mlir::IntegerAttr exponent,
                           mlir::IntegerAttr mantissa);

/// `@name` or `@"any text"`.
mlir::ParseResult parseCustomCallTarget(mlir::OpAsmParser &parser,
                                        mlir::StringAttr &target);
void printCustomCallTarget(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                           mlir::StringAttr target);

/// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`.
mlir::ParseResult parseDotDimensionNumbers(mlir::OpAsmParser &parser,
                                           DotDimensionNumbersAttr &numbers);
void printDotDimensionNumbers(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                              DotDimensionNumbersAttr numbers);

/// `, precision = [DEFAULT, HIGH]` or nothing.
mlir::ParseResult parsePrecisionConfig(mlir::OpAsmParser &parser,
                                       mlir::ArrayAttr &precision);
void printPrecisionConfig(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                          mlir::ArrayAttr precision);

/// The same, then `, algorithm = <...>` or nothing.
mlir::ParseResult parsePrecisionConfigAndAlgorithm(mlir::OpAsmParser &parser,
                                                   mlir::ArrayAttr &precision,
                                                   DotAlgorithmAttr &algorithm);
void printPrecisionConfigAndAlgorithm(mlir::OpAsmPrinter &printer,
                                      mlir::Operation *op,
                                      mlir::ArrayAttr precision,
                                      DotAlgorithmAttr algorithm);

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
mlir::ParseResult parseConvolutionDimensions(mlir::AsmParser &parser,
                                             ConvDimensionNumbersAttr &numbers);
void printConvolutionDimensions(mlir::AsmPrinter &printer,
                                ConvDimensionNumbersAttr numbers);
void printConvolutionDimensions(mlir::OpAsmPrinter &printer,
                                mlir::Operation *op,
                                ConvDimensionNumbersAttr numbers);

/// `stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate =
/// [1, 1], reverse = [false, false]`, each one if present.
mlir::ParseResult parseWindowAttributes(mlir::OpAsmParser &parser,
                                        mlir::DenseI64ArrayAttr &strides,
                                        mlir::DenseIntElementsAttr &padding,
                                        mlir::DenseI64ArrayAttr &lhsDilation,
                                        mlir::DenseI64ArrayAttr &rhsDilation,
                                        mlir::DenseBoolArrayAttr &reversal);
void printWindowAttributes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                           mlir::DenseI64ArrayAttr strides,
                           mlir::DenseIntElementsAttr padding,
                           mlir::DenseI64ArrayAttr lhsDilation,
                           mlir::DenseI64ArrayAttr rhsDilation,
                           mlir::DenseBoolArrayAttr reversal);

/// `[1, 2, 3]`, as in the members of the structured attributes.
mlir::ParseResult parseIntegerList(mlir::AsmParser &parser,
                                   llvm::SmallVectorImpl<int64_t> &values);
void printIntegerList(mlir::AsmPrinter &printer,
                      llvm::ArrayRef<int64_t> values);

} // namespace tenon::stablehlo

#endif // TENON_LIB_DIALECT_STABLEHLO_ASSEMBLY_H
