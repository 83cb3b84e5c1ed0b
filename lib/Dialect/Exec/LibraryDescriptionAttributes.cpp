//===- LibraryDescriptionAttributes.cpp - Descriptions as dictionaries ---===//
//
// Library descriptions in IR: a readable dictionary whose keys are the fields
// of the description, and the exact way back. Which field has which key is a
// table per struct; an unknown, missing or mistyped key is an error.
//
//   {call = "matmul", lhs = "f32", rhs = "f32", result = "f32",
//    batch = [], m = 128 : i64, n = 512 : i64, k = 784 : i64,
//    lhs_stride_m = 784 : i64, ..., epilogue = "none", pieces = 2 : i64}
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/IR/Builders.h"

#include <array>

using namespace mlir;
using namespace tenon;
using namespace tenon::exec;
using namespace tenon::libraries;

namespace {

template <typename Struct>
struct IntegerField {
  llvm::StringLiteral key;
  int64_t Struct::*member;
};

template <typename Struct>
struct TypeField {
  llvm::StringLiteral key;
  ElementType Struct::*member;
};

using BatchDimension = MatmulDescription::BatchDimension;
using Spatial = ConvolutionDescription::Spatial;

constexpr IntegerField<BatchDimension> batchFields[] = {
    {"size", &BatchDimension::size},
    {"lhs_stride", &BatchDimension::lhsStride},
    {"rhs_stride", &BatchDimension::rhsStride},
    {"result_stride", &BatchDimension::resultStride},
};

constexpr TypeField<MatmulDescription> matmulTypes[] = {
    {"lhs", &MatmulDescription::lhsType},
    {"rhs", &MatmulDescription::rhsType},
    {"result", &MatmulDescription::resultType},
};

constexpr IntegerField<MatmulDescription> matmulFields[] = {
    {"m", &MatmulDescription::m},
    {"n", &MatmulDescription::n},
    {"k", &MatmulDescription::k},
    {"lhs_stride_m", &MatmulDescription::lhsStrideM},
    {"lhs_stride_k", &MatmulDescription::lhsStrideK},
    {"rhs_stride_k", &MatmulDescription::rhsStrideK},
    {"rhs_stride_n", &MatmulDescription::rhsStrideN},
    {"result_stride_m", &MatmulDescription::resultStrideM},
    {"result_stride_n", &MatmulDescription::resultStrideN},
    {"pieces", &MatmulDescription::pieces},
};

constexpr IntegerField<Spatial> spatialFields[] = {
    {"input", &Spatial::input},
    {"kernel", &Spatial::kernel},
    {"output", &Spatial::output},
    {"stride", &Spatial::stride},
    {"dilation", &Spatial::dilation},
    {"pad_low", &Spatial::padLow},
    {"pad_high", &Spatial::padHigh},
    {"input_stride", &Spatial::inputStride},
    {"kernel_stride", &Spatial::kernelStride},
    {"output_stride", &Spatial::outputStride},
};

constexpr TypeField<ConvolutionDescription> convolutionTypes[] = {
    {"type", &ConvolutionDescription::type},
};

constexpr IntegerField<ConvolutionDescription> convolutionFields[] = {
    {"batch", &ConvolutionDescription::batch},
    {"groups", &ConvolutionDescription::groups},
    {"input_channels", &ConvolutionDescription::inputChannels},
    {"output_channels", &ConvolutionDescription::outputChannels},
    {"input_stride_batch", &ConvolutionDescription::inputStrideBatch},
    {"input_stride_channel", &ConvolutionDescription::inputStrideChannel},
    {"output_stride_batch", &ConvolutionDescription::outputStrideBatch},
    {"output_stride_channel", &ConvolutionDescription::outputStrideChannel},
    {"kernel_stride_group", &ConvolutionDescription::kernelStrideGroup},
    {"kernel_stride_input", &ConvolutionDescription::kernelStrideInput},
    {"kernel_stride_output", &ConvolutionDescription::kernelStrideOutput},
    {"pieces", &ConvolutionDescription::pieces},
};

constexpr TypeField<LapackDescription> lapackTypes[] = {
    {"type", &LapackDescription::type},
};

constexpr IntegerField<LapackDescription> lapackFields[] = {
    {"batch", &LapackDescription::batch},
    {"rows", &LapackDescription::rows},
    {"columns", &LapackDescription::columns},
    {"reflectors", &LapackDescription::reflectors},
    {"pieces", &LapackDescription::pieces},
};

struct LetterField {
  llvm::StringLiteral key;
  char LapackDescription::*member;
};

constexpr LetterField lapackLetters[] = {
    {"triangle", &LapackDescription::triangle},
    {"side", &LapackDescription::side},
    {"transpose", &LapackDescription::transpose},
    {"diagonal", &LapackDescription::diagonal},
    {"mode", &LapackDescription::mode},
};

// In the order of the enumerators.
constexpr std::array<llvm::StringLiteral, 2> epilogueNames{"none", "bias"};
constexpr std::array<llvm::StringLiteral, 3> convolutionKindNames{
    "forward", "data_gradient", "weight_gradient"};

/// Collects the entries of one dictionary.
class DictionaryWriter {
public:
  explicit DictionaryWriter(MLIRContext *context) : builder(context) {}

  void add(StringRef key, Attribute value) {
    entries.push_back(builder.getNamedAttr(key, value));
  }
  void add(StringRef key, StringRef value) {
    add(key, builder.getStringAttr(value));
  }
  template <typename Struct, size_t count>
  void add(const Struct &value, const IntegerField<Struct> (&fields)[count]) {
    for (const auto &field : fields)
      add(field.key, builder.getI64IntegerAttr(value.*field.member));
  }
  template <typename Struct, size_t count>
  void add(const Struct &value, const TypeField<Struct> (&fields)[count]) {
    for (const auto &field : fields)
      add(field.key, StringRef(tenon::name(value.*field.member)));
  }
  template <typename Struct, size_t count>
  void add(StringRef key, const std::vector<Struct> &values,
           const IntegerField<Struct> (&fields)[count]) {
    SmallVector<Attribute> attributes;
    for (const Struct &value : values) {
      DictionaryWriter inner(builder.getContext());
      inner.add(value, fields);
      attributes.push_back(inner.finish());
    }
    add(key, builder.getArrayAttr(attributes));
  }
  DictionaryAttr finish() { return builder.getDictionaryAttr(entries); }

  Builder builder;

private:
  SmallVector<NamedAttribute> entries;
};

/// Takes the entries out of one dictionary; the first error is kept and makes
/// every later read a no-op.
class DictionaryReader {
public:
  DictionaryReader(DictionaryAttr dictionary, StringRef what,
                   std::string &error)
      : dictionary(dictionary), what(what), error(error) {}

  template <typename AttrT>
  AttrT get(StringRef key, StringRef expected) {
    ++read;
    if (!error.empty())
      return {};
    Attribute value = dictionary.get(key);
    auto typed = dyn_cast_if_present<AttrT>(value);
    if (!value)
      fail(llvm::formatv("{0} description has no '{1}'", what, key));
    else if (!typed)
      fail(llvm::formatv("'{0}' of a {1} description is {2}, expected {3}", key,
                         what, value, expected));
    return typed;
  }
  template <typename Struct, size_t count>
  void get(Struct &value, const IntegerField<Struct> (&fields)[count]) {
    for (const auto &field : fields)
      if (auto integer = get<IntegerAttr>(field.key, "an i64"); integer) {
        if (integer.getType().isSignlessInteger(64))
          value.*field.member = integer.getInt();
        else
          fail(llvm::formatv("'{0}' of a {1} description is {2}, expected an "
                             "i64",
                             field.key, what, integer));
      }
  }
  template <typename Struct, size_t count>
  void get(Struct &value, const TypeField<Struct> (&fields)[count]) {
    for (const auto &field : fields)
      if (auto string = get<StringAttr>(field.key, "an element type's name")) {
        auto type = elementTypeFromName(string.getValue());
        if (type)
          value.*field.member = *type;
        else
          fail(llvm::formatv("'{0}' of a {1} description names no element "
                             "type: '{2}'",
                             field.key, what, string.getValue()));
      }
  }
  template <typename Struct, size_t count>
  void get(StringRef key, std::vector<Struct> &values,
           const IntegerField<Struct> (&fields)[count]) {
    auto array = get<ArrayAttr>(key, "an array of dictionaries");
    if (!array)
      return;
    for (Attribute element : array) {
      auto inner = dyn_cast<DictionaryAttr>(element);
      if (!inner) {
        fail(llvm::formatv("'{0}' of a {1} description holds {2}, expected a "
                           "dictionary",
                           key, what, element));
        return;
      }
      DictionaryReader reader(inner, what, error);
      reader.get(values.emplace_back(), fields);
      reader.finish();
    }
  }
  template <typename Enum, size_t count>
  void get(StringRef key, Enum &value,
           const std::array<llvm::StringLiteral, count> &names) {
    auto string = get<StringAttr>(key, "a string");
    if (!string)
      return;
    const auto *found = llvm::find(names, string.getValue());
    if (found == names.end())
      fail(llvm::formatv("'{0}' of a {1} description is '{2}', expected one of "
                         "'{3:$[', ']}'",
                         key, what, string.getValue(),
                         llvm::make_range(names.begin(), names.end())));
    else
      value = Enum(found - names.begin());
  }

  void get(LapackDescription &value, const LetterField &field) {
    auto letter = get<StringAttr>(field.key, "a letter");
    if (letter && letter.size() == 1)
      value.*field.member = letter.getValue().front();
    else if (letter)
      fail(llvm::formatv("'{0}' of a {1} description is {2}, expected a letter",
                         field.key, what, letter));
  }

  /// True if all was read, nothing was left over and nothing was wrong.
  bool finish() {
    if (error.empty() && read != dictionary.size())
      fail(llvm::formatv("{0} description has {1} entries, expected {2}", what,
                         dictionary.size(), read));
    return error.empty();
  }

private:
  template <typename Message>
  void fail(Message &&message) {
    if (error.empty())
      error = message.str();
  }

  DictionaryAttr dictionary;
  StringRef what;
  std::string &error;
  size_t read = 0;
};

DictionaryAttr toDictionary(MLIRContext *context,
                            const MatmulDescription &description) {
  DictionaryWriter writer(context);
  writer.add("call", "matmul");
  writer.add(description, matmulTypes);
  writer.add(description, matmulFields);
  writer.add("batch", description.batch, batchFields);
  writer.add("epilogue", epilogueNames[size_t(description.epilogue)]);
  return writer.finish();
}

DictionaryAttr toDictionary(MLIRContext *context,
                            const ConvolutionDescription &description) {
  DictionaryWriter writer(context);
  writer.add("call", "convolution");
  writer.add("kind", convolutionKindNames[size_t(description.kind)]);
  writer.add(description, convolutionTypes);
  writer.add(description, convolutionFields);
  writer.add("spatial", description.spatial, spatialFields);
  writer.add("mirrored_kernel",
             writer.builder.getBoolAttr(description.mirroredKernel));
  return writer.finish();
}

DictionaryAttr toDictionary(MLIRContext *context,
                            const LapackDescription &description) {
  DictionaryWriter writer(context);
  writer.add("call", "lapack");
  writer.add("routine", StringRef(name(description.routine)));
  writer.add(description, lapackTypes);
  writer.add(description, lapackFields);
  for (const LetterField &field : lapackLetters)
    writer.add(field.key, StringRef(&(description.*field.member), 1));
  return writer.finish();
}

} // namespace

DictionaryAttr tenon::exec::toAttribute(MLIRContext *context,
                                        const LibraryDescription &description) {
  return std::visit(
      [&](const auto &value) { return toDictionary(context, value); },
      description);
}

std::optional<LibraryDescription>
tenon::exec::fromAttribute(DictionaryAttr attribute, std::string &error) {
  error.clear();
  if (!attribute) {
    error = "library description is missing";
    return std::nullopt;
  }
  auto call = attribute.getAs<StringAttr>("call");
  if (call && call.getValue() == "matmul") {
    MatmulDescription description;
    DictionaryReader reader(attribute, "matmul", error);
    reader.get<StringAttr>("call", "a string");
    reader.get(description, matmulTypes);
    reader.get(description, matmulFields);
    reader.get("batch", description.batch, batchFields);
    reader.get("epilogue", description.epilogue, epilogueNames);
    if (!reader.finish())
      return std::nullopt;
    return description;
  }
  if (call && call.getValue() == "convolution") {
    ConvolutionDescription description;
    DictionaryReader reader(attribute, "convolution", error);
    reader.get<StringAttr>("call", "a string");
    reader.get("kind", description.kind, convolutionKindNames);
    reader.get(description, convolutionTypes);
    reader.get(description, convolutionFields);
    reader.get("spatial", description.spatial, spatialFields);
    auto mirrored = reader.get<BoolAttr>("mirrored_kernel", "true or false");
    if (!reader.finish())
      return std::nullopt;
    description.mirroredKernel = mirrored.getValue();
    return description;
  }
  if (call && call.getValue() == "lapack") {
    LapackDescription description;
    DictionaryReader reader(attribute, "lapack", error);
    reader.get<StringAttr>("call", "a string");
    auto name = reader.get<StringAttr>("routine", "a string");
    reader.get(description, lapackTypes);
    reader.get(description, lapackFields);
    for (const LetterField &field : lapackLetters)
      reader.get(description, field);
    if (!reader.finish())
      return std::nullopt;
    auto routine = lapackRoutineFromName(name.getValue());
    error = routine ? "" : "unknown LAPACK routine '" + name.str() + "'";
    if (!routine)
      return std::nullopt;
    description.routine = *routine;
    return description;
  }
  error = "'call' of a library description is none of \"matmul\", "
          "\"convolution\" and \"lapack\"";
  return std::nullopt;
}
