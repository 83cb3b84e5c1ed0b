//===- CHLO.cpp - The chlo dialect ----------------------------------------===//
//
// Registration, and the text of the dimension numbers of ragged products.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/CHLO/CHLO.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include "tenon/Dialect/CHLO/CHLODialect.cpp.inc"
#include "tenon/Dialect/CHLO/CHLOEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/CHLO/CHLOAttributes.cpp.inc"

// The generated predicates name the element kinds without their namespace.
using tenon::stablehlo::kBoolean, tenon::stablehlo::kComplex,
    tenon::stablehlo::kFloat, tenon::stablehlo::kInteger,
    tenon::stablehlo::kPerAxisQuantized, tenon::stablehlo::kTensor;

#define GET_OP_CLASSES
#include "tenon/Dialect/CHLO/CHLOOps.cpp.inc"

using namespace mlir;
using namespace tenon::chlo;

void CHLODialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/CHLO/CHLOAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/CHLO/CHLOOps.cpp.inc"
      >();
}

Operation *CHLODialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return tenon::stablehlo::ConstantOp::create(builder, location, type,
                                              elements);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// Dimension numbers
//===----------------------------------------------------------------------===//

/// The members in the order in which they are printed.
static constexpr llvm::StringLiteral raggedDotMembers[] = {
    "lhs_batching_dimensions",    "rhs_batching_dimensions",
    "lhs_contracting_dimensions", "rhs_contracting_dimensions",
    "lhs_ragged_dimensions",      "rhs_group_dimensions"};

Attribute RaggedDotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lists[std::size(raggedDotMembers)];
  bool seen[std::size(raggedDotMembers)] = {};
  auto parseMember = [&]() -> ParseResult {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    const auto *member = llvm::find(raggedDotMembers, name);
    if (member == std::end(raggedDotMembers))
      return parser.emitError(location)
             << "unknown member '" << name << "', expected one of '"
             << llvm::join(ArrayRef(raggedDotMembers), "', '") << "'";
    size_t index = member - std::begin(raggedDotMembers);
    if (std::exchange(seen[index], true))
      return parser.emitError(location)
             << "member '" << name << "' is given twice";
    return failure(
        parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(lists[index].emplace_back());
        }));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseMember))
    return {};
  return get(parser.getContext(), lists[0], lists[1], lists[2], lists[3],
             lists[4], lists[5]);
}

void RaggedDotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  ArrayRef<int64_t> lists[] = {
      getLhsBatchingDimensions(),    getRhsBatchingDimensions(),
      getLhsContractingDimensions(), getRhsContractingDimensions(),
      getLhsRaggedDimensions(),      getRhsGroupDimensions()};
  printer << "<";
  bool isFirst = true;
  for (auto [name, list] : llvm::zip(raggedDotMembers, lists)) {
    if (list.empty())
      continue;
    if (!std::exchange(isFirst, false))
      printer << ", ";
    printer << name << " = [";
    llvm::interleaveComma(list, printer);
    printer << "]";
  }
  printer << ">";
}
