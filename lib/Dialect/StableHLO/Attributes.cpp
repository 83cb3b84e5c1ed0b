//===- Attributes.cpp - Structured attributes of stablehlo ----------------===//
//
// Parsing and printing of dimension numbers and the other attributes with
// members. A member that is empty or zero is left out of the text; members may
// come in any order.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/StableHLO/StableHLOAttributes.cpp.inc"

void StableHLODialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/StableHLO/StableHLOAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

namespace {
/// A member to read: a list or a number.
struct Member {
  Member(StringRef name, SmallVectorImpl<int64_t> &list)
      : name(name), list(&list) {}
  Member(StringRef name, int64_t &number) : name(name), number(&number) {}

  StringRef name;
  SmallVectorImpl<int64_t> *list = nullptr;
  int64_t *number = nullptr;
  bool seen = false;
};

/// Prints members, with commas between those that are there.
class MemberPrinter {
public:
  explicit MemberPrinter(AsmPrinter &printer) : printer(printer) {}

  void number(StringRef name, int64_t value, bool always = false) {
    if (value == 0 && !always)
      return;
    start(name);
    printer << value;
  }
  void list(StringRef name, ArrayRef<int64_t> values, bool always = false) {
    if (values.empty() && !always)
      return;
    start(name);
    printIntegerList(printer, values);
  }
  void start(StringRef name) {
    printer << separator << name << " = ";
    separator = ", ";
  }

private:
  AsmPrinter &printer;
  StringRef separator;
};
} // namespace

/// Reads `name = value, ...>`.
static ParseResult parseMembers(AsmParser &parser,
                                MutableArrayRef<Member> members) {
  if (succeeded(parser.parseOptionalGreater()))
    return success();
  do {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    auto *member = llvm::find_if(
        members, [&](const Member &each) { return each.name == name; });
    if (member == members.end()) {
      InFlightDiagnostic error = parser.emitError(location);
      error << "unknown member '" << name << "', expected one of ";
      llvm::interleaveComma(members, error,
                            [&](const Member &each) { error << each.name; });
      return error;
    }
    if (member->seen)
      return parser.emitError(location)
             << "member '" << name << "' is given twice";
    member->seen = true;
    if (parser.parseEqual())
      return failure();
    ParseResult parsed = member->list ? parseIntegerList(parser, *member->list)
                                      : parser.parseInteger(*member->number);
    if (failed(parsed))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseGreater();
}

//===----------------------------------------------------------------------===//
// Dimension numbers
//===----------------------------------------------------------------------===//

Attribute DotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  Member members[] = {{"lhs_batching_dimensions", lhsBatching},
                      {"rhs_batching_dimensions", rhsBatching},
                      {"lhs_contracting_dimensions", lhsContracting},
                      {"rhs_contracting_dimensions", rhsContracting}};
  if (parser.parseLess() || parseMembers(parser, members))
    return {};
  return get(parser.getContext(), lhsBatching, rhsBatching, lhsContracting,
             rhsContracting);
}

void DotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  MemberPrinter members(printer);
  members.list("lhs_batching_dimensions", getLhsBatchingDimensions());
  members.list("rhs_batching_dimensions", getRhsBatchingDimensions());
  members.list("lhs_contracting_dimensions", getLhsContractingDimensions());
  members.list("rhs_contracting_dimensions", getRhsContractingDimensions());
  printer << '>';
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> offset, collapsed, operandBatching, indicesBatching, map;
  int64_t indexVectorDim = 0;
  Member members[] = {{"offset_dims", offset},
                      {"collapsed_slice_dims", collapsed},
                      {"operand_batching_dims", operandBatching},
                      {"start_indices_batching_dims", indicesBatching},
                      {"start_index_map", map},
                      {"index_vector_dim", indexVectorDim}};
  if (parser.parseLess() || parseMembers(parser, members))
    return {};
  return get(parser.getContext(), offset, collapsed, operandBatching,
             indicesBatching, map, indexVectorDim);
}

void GatherDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  MemberPrinter members(printer);
  members.list("offset_dims", getOffsetDims());
  members.list("collapsed_slice_dims", getCollapsedSliceDims());
  members.list("operand_batching_dims", getOperandBatchingDims());
  members.list("start_indices_batching_dims", getStartIndicesBatchingDims());
  members.list("start_index_map", getStartIndexMap());
  members.number("index_vector_dim", getIndexVectorDim());
  printer << '>';
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> window, inserted, inputBatching, indicesBatching, map;
  int64_t indexVectorDim = 0;
  Member members[] = {{"update_window_dims", window},
                      {"inserted_window_dims", inserted},
                      {"input_batching_dims", inputBatching},
                      {"scatter_indices_batching_dims", indicesBatching},
                      {"scatter_dims_to_operand_dims", map},
                      {"index_vector_dim", indexVectorDim}};
  if (parser.parseLess() || parseMembers(parser, members))
    return {};
  return get(parser.getContext(), window, inserted, inputBatching,
             indicesBatching, map, indexVectorDim);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  MemberPrinter members(printer);
  members.list("update_window_dims", getUpdateWindowDims());
  members.list("inserted_window_dims", getInsertedWindowDims());
  members.list("input_batching_dims", getInputBatchingDims());
  members.list("scatter_indices_batching_dims",
               getScatterIndicesBatchingDims());
  members.list("scatter_dims_to_operand_dims", getScatterDimsToOperandDims());
  members.number("index_vector_dim", getIndexVectorDim());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of one tensor of a convolution: two with letters, and the
/// spatial ones in their order.
struct ConvolutionLayout {
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial;
};
} // namespace

/// Reads `[b, 0, 1, f]` for the letters b and f: the place of an entry is its
/// dimension, a number says which spatial dimension it is.
static ParseResult parseLayout(AsmParser &parser, char firstLetter,
                               char secondLetter, ConvolutionLayout &layout) {
  SMLoc start = parser.getCurrentLocation();
  int64_t dimension = 0;
  SmallVector<std::pair<int64_t, int64_t>> spatial;
  auto parseEntry = [&]() -> ParseResult {
    SMLoc location = parser.getCurrentLocation();
    int64_t number;
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (isNumber.has_value()) {
      if (failed(*isNumber))
        return failure();
      spatial.push_back({number, dimension++});
      return success();
    }
    StringRef letter;
    if (parser.parseKeyword(&letter))
      return failure();
    int64_t *place = nullptr;
    if (letter == StringRef(&firstLetter, 1))
      place = &layout.first;
    else if (letter == StringRef(&secondLetter, 1))
      place = &layout.second;
    if (!place || *place >= 0)
      return parser.emitError(location)
             << "expected '" << firstLetter << "' and '" << secondLetter
             << "' once each and numbers, found '" << letter << "'";
    *place = dimension++;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return failure();
  llvm::sort(spatial);
  for (auto [position, entry] : llvm::enumerate(spatial)) {
    if (entry.first != static_cast<int64_t>(position))
      return parser.emitError(start)
             << "expected each spatial dimension from 0 to "
             << spatial.size() - 1 << " once";
    layout.spatial.push_back(entry.second);
  }
  if (layout.first < 0 || layout.second < 0)
    return parser.emitError(start) << "expected '" << firstLetter << "' and '"
                                   << secondLetter << "' among the dimensions";
  return success();
}

static void printLayout(AsmPrinter &printer, char firstLetter,
                        char secondLetter, int64_t first, int64_t second,
                        ArrayRef<int64_t> spatial) {
  SmallVector<std::string> entries(spatial.size() + 2, "?");
  auto place = [&](int64_t dimension, std::string text) {
    if (dimension >= 0 && dimension < static_cast<int64_t>(entries.size()))
      entries[dimension] = std::move(text);
  };
  for (auto [position, dimension] : llvm::enumerate(spatial))
    place(dimension, std::to_string(position));
  place(first, std::string(1, firstLetter));
  place(second, std::string(1, secondLetter));
  printer << '[';
  llvm::interleaveComma(entries, printer.getStream());
  printer << ']';
}

ParseResult tenon::stablehlo::parseConvolutionDimensions(
    AsmParser &parser, ConvDimensionNumbersAttr &numbers) {
  ConvolutionLayout input, kernel, output;
  if (parseLayout(parser, 'b', 'f', input) || parser.parseKeyword("x") ||
      parseLayout(parser, 'i', 'o', kernel) || parser.parseArrow() ||
      parseLayout(parser, 'b', 'f', output))
    return failure();
  numbers = ConvDimensionNumbersAttr::get(
      parser.getContext(), input.first, input.second, input.spatial,
      kernel.first, kernel.second, kernel.spatial, output.first, output.second,
      output.spatial);
  return success();
}

void tenon::stablehlo::printConvolutionDimensions(
    AsmPrinter &printer, ConvDimensionNumbersAttr numbers) {
  printLayout(printer, 'b', 'f', numbers.getInputBatchDimension(),
              numbers.getInputFeatureDimension(),
              numbers.getInputSpatialDimensions());
  printer << 'x';
  printLayout(printer, 'i', 'o', numbers.getKernelInputFeatureDimension(),
              numbers.getKernelOutputFeatureDimension(),
              numbers.getKernelSpatialDimensions());
  printer << "->";
  printLayout(printer, 'b', 'f', numbers.getOutputBatchDimension(),
              numbers.getOutputFeatureDimension(),
              numbers.getOutputSpatialDimensions());
}

void tenon::stablehlo::printConvolutionDimensions(
    OpAsmPrinter &printer, Operation *, ConvDimensionNumbersAttr numbers) {
  printConvolutionDimensions(static_cast<AsmPrinter &>(printer), numbers);
}

/// Whether the dimensions of a tensor are 0 to rank - 1, each once: only then
/// can the bracketed form say them.
static bool isPermutation(int64_t first, int64_t second,
                          ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> all(spatial);
  all.append({first, second});
  llvm::sort(all);
  return llvm::equal(all, llvm::seq<int64_t>(0, all.size()));
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalKeyword("raw"))) {
    ConvDimensionNumbersAttr numbers;
    if (parseConvolutionDimensions(parser, numbers) || parser.parseGreater())
      return {};
    return numbers;
  }
  int64_t inputBatch = 0, inputFeature = 0, kernelInput = 0, kernelOutput = 0,
          outputBatch = 0, outputFeature = 0;
  SmallVector<int64_t> inputSpatial, kernelSpatial, outputSpatial;
  Member members[] = {{"input_batch_dimension", inputBatch},
                      {"input_feature_dimension", inputFeature},
                      {"input_spatial_dimensions", inputSpatial},
                      {"kernel_input_feature_dimension", kernelInput},
                      {"kernel_output_feature_dimension", kernelOutput},
                      {"kernel_spatial_dimensions", kernelSpatial},
                      {"output_batch_dimension", outputBatch},
                      {"output_feature_dimension", outputFeature},
                      {"output_spatial_dimensions", outputSpatial}};
  if (parseMembers(parser, members))
    return {};
  return get(parser.getContext(), inputBatch, inputFeature, inputSpatial,
             kernelInput, kernelOutput, kernelSpatial, outputBatch,
             outputFeature, outputSpatial);
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  bool bracketed =
      isPermutation(getInputBatchDimension(), getInputFeatureDimension(),
                    getInputSpatialDimensions()) &&
      isPermutation(getKernelInputFeatureDimension(),
                    getKernelOutputFeatureDimension(),
                    getKernelSpatialDimensions()) &&
      isPermutation(getOutputBatchDimension(), getOutputFeatureDimension(),
                    getOutputSpatialDimensions());
  if (bracketed) {
    printer << '<';
    printConvolutionDimensions(printer, *this);
    printer << '>';
    return;
  }
  printer << "<raw ";
  MemberPrinter members(printer);
  members.number("input_batch_dimension", getInputBatchDimension(), true);
  members.number("input_feature_dimension", getInputFeatureDimension(), true);
  members.list("input_spatial_dimensions", getInputSpatialDimensions(), true);
  members.number("kernel_input_feature_dimension",
                 getKernelInputFeatureDimension(), true);
  members.number("kernel_output_feature_dimension",
                 getKernelOutputFeatureDimension(), true);
  members.list("kernel_spatial_dimensions", getKernelSpatialDimensions(), true);
  members.number("output_batch_dimension", getOutputBatchDimension(), true);
  members.number("output_feature_dimension", getOutputFeatureDimension(), true);
  members.list("output_spatial_dimensions", getOutputSpatialDimensions(), true);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Aliases, bounds and accuracy
//===----------------------------------------------------------------------===//

Attribute OutputOperandAliasAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> outputIndices, operandIndices;
  int64_t operand = 0;
  Member members[] = {{"output_tuple_indices", outputIndices},
                      {"operand_index", operand},
                      {"operand_tuple_indices", operandIndices}};
  if (parser.parseLess() || parseMembers(parser, members))
    return {};
  return get(parser.getContext(), outputIndices, operand, operandIndices);
}

void OutputOperandAliasAttr::print(AsmPrinter &printer) const {
  printer << '<';
  MemberPrinter members(printer);
  members.list("output_tuple_indices", getOutputTupleIndices(), true);
  members.number("operand_index", getOperandIndex(), true);
  members.list("operand_tuple_indices", getOperandTupleIndices(), true);
  printer << '>';
}

/// `4, ?`: one entry per dimension.
static ParseResult parseBounds(AsmParser &parser,
                               SmallVectorImpl<int64_t> &bounds) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      bounds.push_back(ShapedType::kDynamic);
      return success();
    }
    return parser.parseInteger(bounds.emplace_back());
  });
}

Attribute TypeExtensionsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> bounds;
  if (parser.parseLess() || parseBounds(parser, bounds) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), bounds);
}

/// The older spelling `type_extensions<bounds = [4, ?]>`.
static Attribute parseTypeExtensions(AsmParser &parser) {
  SmallVector<int64_t> bounds;
  if (parser.parseLess() || parser.parseKeyword("bounds") ||
      parser.parseEqual() || parser.parseLSquare() ||
      parseBounds(parser, bounds) || parser.parseRSquare() ||
      parser.parseGreater())
    return {};
  return TypeExtensionsAttr::get(parser.getContext(), bounds);
}

void TypeExtensionsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getBounds(), printer, [&](int64_t bound) {
    if (ShapedType::isDynamic(bound))
      printer << '?';
    else
      printer << bound;
  });
  printer << '>';
}

LogicalResult TypeExtensionsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (getBounds().size() != shape.size())
    return emitError() << "expected a bound for each of " << shape.size()
                       << " dimensions, found " << getBounds().size();
  for (auto [dimension, extent, bound] : llvm::enumerate(shape, getBounds()))
    if (!ShapedType::isDynamic(bound) && !ShapedType::isDynamic(extent))
      return emitError() << "dimension " << dimension << " has the extent "
                         << extent << " and needs no bound, found " << bound;
  return success();
}

Attribute ResultAccuracyAttr::parse(AsmParser &parser, Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  if (parser.parseLess())
    return {};
  do {
    SMLoc location = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    ParseResult parsed = success();
    if (name == "atol")
      parsed = parser.parseFloat(atol);
    else if (name == "rtol")
      parsed = parser.parseFloat(rtol);
    else if (name == "ulps")
      parsed = parser.parseInteger(ulps);
    else if (name == "mode")
      parsed = parser.parseCustomAttributeWithFallback(mode);
    else
      parsed = parser.emitError(location)
               << "unknown member '" << name
               << "', expected one of atol, rtol, ulps, mode";
    if (failed(parsed))
      return {};
  } while (succeeded(parser.parseOptionalComma()));
  if (parser.parseGreater())
    return {};
  MLIRContext *context = parser.getContext();
  if (!mode)
    mode = ResultAccuracyModeAttr::get(context, ResultAccuracyMode::DEFAULT);
  return get(context, APFloat(atol), APFloat(rtol), ulps, mode);
}

void ResultAccuracyAttr::print(AsmPrinter &printer) const {
  printer << '<';
  MemberPrinter members(printer);
  auto printTolerance = [&](StringRef name, const APFloat &value) {
    if (value.isZero())
      return;
    members.start(name);
    printer.printFloat(value);
  };
  printTolerance("atol", getAtol());
  printTolerance("rtol", getRtol());
  members.number("ulps", getUlps());
  members.start("mode");
  printer.printAttribute(getMode());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  DenseIntElementsAttr deviceIds;
  auto parseAxis = [&]() -> ParseResult {
    return parser.parseCustomAttributeWithFallback(axes.emplace_back());
  };
  if (parser.parseLess() || parser.parseKeyword("axes") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseAttribute(deviceIds)))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<axes = [";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printer.printAttribute(axis);
  });
  printer << ']';
  if (getDeviceIds())
    printer << ", device_ids = " << getDeviceIds();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// The dialect's hooks
//===----------------------------------------------------------------------===//

Attribute StableHLODialect::parseAttribute(DialectAsmParser &parser,
                                           Type type) const {
  if (succeeded(parser.parseOptionalKeyword("type_extensions")))
    return parseTypeExtensions(parser);
  StringRef mnemonic;
  Attribute attribute;
  if (generatedAttributeParser(parser, &mnemonic, type, attribute).has_value())
    return attribute;
  parser.emitError(parser.getNameLoc())
      << "unknown stablehlo attribute '" << mnemonic << "'";
  return {};
}

void StableHLODialect::printAttribute(Attribute attribute,
                                      DialectAsmPrinter &printer) const {
  if (failed(generatedAttributePrinter(attribute, printer)))
    llvm_unreachable("an attribute of this dialect without a printer");
}
