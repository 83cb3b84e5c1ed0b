//===- LibraryDescriptionAttributes.cpp - Descriptions as dictionaries ---===//
//
// Library descriptions in IR: a readable dictionary with an entry per field of
// the description, and the exact way back. An unknown, missing or mistyped key
// is an error.
//
//   {call = "matmul", lhs = "f32", rhs = "f32", result = "f32",
//    batch = [], m = 128 : i64, n = 512 : i64, k = 784 : i64,
//    lhs_stride_m = 784 : i64, ..., epilogue = "none", pieces = 2 : i64}
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::exec;

namespace {

template <HasFields Struct>
NamedAttrList entriesOf(Builder &builder, const Struct &value);

template <typename Value>
Attribute attributeOf(Builder &builder, const Value &value) {
  if constexpr (std::is_same_v<Value, bool>)
    return builder.getBoolAttr(value);
  else if constexpr (std::is_same_v<Value, char>)
    return builder.getStringAttr(StringRef(&value, 1));
  else if constexpr (std::is_enum_v<Value>)
    return builder.getStringAttr(StringRef(name(value)));
  else
    return builder.getI64IntegerAttr(value);
}

template <HasFields Struct>
Attribute attributeOf(Builder &builder, const std::vector<Struct> &values) {
  return builder.getArrayAttr(
      llvm::map_to_vector(values, [&](const Struct &value) -> Attribute {
        return entriesOf(builder, value).getDictionary(builder.getContext());
      }));
}

template <HasFields Struct>
NamedAttrList entriesOf(Builder &builder, const Struct &value) {
  NamedAttrList entries;
  eachField<Struct>([&](const auto &field) {
    entries.set(StringRef(field.name),
                attributeOf(builder, value.*field.member));
  });
  return entries;
}

/// What a field holds, for messages.
template <typename Value>
std::string expected() {
  if constexpr (std::is_same_v<Value, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<Value, char>) {
    return "a letter";
  } else if constexpr (std::is_same_v<Value, ElementType>) {
    return "an element type's name";
  } else if constexpr (std::is_enum_v<Value>) {
    return llvm::formatv(
        "one of '{0:$[\', \']}'",
        llvm::make_range(namesOf<Value>.begin(), namesOf<Value>.end()));
  } else {
    return "an i64";
  }
}

/// Whether the attribute holds such a value.
template <typename Value>
bool read(Attribute attribute, Value &value) {
  if constexpr (std::is_same_v<Value, bool>) {
    auto flag = dyn_cast<BoolAttr>(attribute);
    value = flag && flag.getValue();
    return bool(flag);
  } else if constexpr (std::is_same_v<Value, int64_t>) {
    auto number = dyn_cast<IntegerAttr>(attribute);
    if (!number || !number.getType().isSignlessInteger(64))
      return false;
    value = number.getInt();
    return true;
  } else {
    auto word = dyn_cast<StringAttr>(attribute);
    if constexpr (std::is_enum_v<Value>) {
      auto known = word ? fromName<Value>(word.getValue()) : std::nullopt;
      value = known.value_or(Value());
      return known.has_value();
    } else {
      if (!word || word.size() != 1)
        return false;
      value = word.getValue().front();
      return true;
    }
  }
}

/// Takes the fields of a struct out of a dictionary; the first error is kept
/// and makes every later read a no-op.
class FieldReader {
public:
  FieldReader(StringRef what, std::string &error) : what(what), error(error) {}

  /// `others` entries of the dictionary are no fields.
  template <HasFields Struct>
  void readFields(DictionaryAttr dictionary, Struct &value, size_t others) {
    size_t fields = others;
    eachField<Struct>([&](const auto &field) {
      ++fields;
      StringRef key = field.name;
      Attribute attribute = dictionary.get(key);
      if (!error.empty())
        return;
      if (!attribute)
        error = llvm::formatv("{0} description has no '{1}'", what, key);
      else
        readField(key, attribute, value.*field.member);
    });
    if (error.empty() && fields != dictionary.size())
      error = llvm::formatv("{0} description has {1} entries, expected {2}",
                            what, dictionary.size(), fields);
  }

private:
  template <typename Value>
  void readField(StringRef key, Attribute attribute, Value &value) {
    if (!read(attribute, value))
      error = llvm::formatv("'{0}' of a {1} description is {2}, expected {3}",
                            key, what, attribute, expected<Value>());
  }

  template <HasFields Struct>
  void readField(StringRef key, Attribute attribute,
                 std::vector<Struct> &values) {
    auto array = dyn_cast<ArrayAttr>(attribute);
    if (!array || !llvm::all_of(array, llvm::IsaPred<DictionaryAttr>)) {
      error = llvm::formatv("'{0}' of a {1} description is {2}, expected an "
                            "array of dictionaries",
                            key, what, attribute);
      return;
    }
    for (auto element : array.getAsRange<DictionaryAttr>())
      readFields(element, values.emplace_back(), /*others=*/0);
  }

  StringRef what;
  std::string &error;
};

constexpr llvm::StringLiteral callKey = "call";

} // namespace

DictionaryAttr
tenon::exec::toAttribute(MLIRContext *context,
                         const libraries::CollectiveDescription &description) {
  Builder builder(context);
  return entriesOf(builder, description).getDictionary(context);
}

std::optional<libraries::CollectiveDescription>
tenon::exec::collectiveOf(DictionaryAttr attribute, std::string &error) {
  error.clear();
  libraries::CollectiveDescription description;
  FieldReader(StringRef(description.call), error)
      .readFields(attribute, description, /*others=*/0);
  return error.empty() ? std::optional(description) : std::nullopt;
}

DictionaryAttr
tenon::exec::toAttribute(MLIRContext *context,
                         const libraries::Description &description) {
  Builder builder(context);
  return std::visit(
      [&](const auto &value) {
        NamedAttrList entries = entriesOf(builder, value);
        entries.set(callKey, builder.getStringAttr(StringRef(value.call)));
        return entries.getDictionary(context);
      },
      description);
}

std::optional<libraries::Description>
tenon::exec::fromAttribute(DictionaryAttr attribute, std::string &error) {
  error.clear();
  auto call = attribute ? attribute.getAs<StringAttr>(callKey) : StringAttr();
  if (!call) {
    error = attribute ? "library description has no 'call', a string"
                      : "library description is missing";
    return std::nullopt;
  }
  auto description = libraries::newDescription(call.getValue(), error);
  if (!description)
    return std::nullopt;
  std::visit(
      [&](auto &value) {
        FieldReader(StringRef(value.call), error)
            .readFields(attribute, value, /*others=*/1);
      },
      *description);
  return error.empty() ? description : std::nullopt;
}
