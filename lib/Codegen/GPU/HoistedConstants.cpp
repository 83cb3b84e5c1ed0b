//===- HoistedConstants.cpp - Numbers of a step beside its machine code ---===//
//
// See HoistedConstants.h.
//
//===----------------------------------------------------------------------===//

#include "HoistedConstants.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace tenon::codegen {

static bool isHoistable(uint32_t bits) {
  const uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  return exponent != 0 && exponent != 0xff && fraction != 0;
}

std::vector<uint32_t> hoistableConstants(func::FuncOp kernel) {
  llvm::SetVector<uint32_t> found;
  kernel.walk([&](stablehlo::ConstantOp constant) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!value || !value.isSplat() || !value.getElementType().isF32())
      return;
    const auto bits = llvm::bit_cast<uint32_t>(value.getSplatValue<float>());
    if (isHoistable(bits))
      found.insert(bits);
  });
  return {found.begin(), found.end()};
}

/// What they are an array of, in the text and its machine code.
static constexpr llvm::StringLiteral arraySymbol = "constants";

/// What a text has in place of a constant: a number of its own for each, by
/// which it is found again.
static uint32_t placeholderOf(size_t number) {
  constexpr uint32_t first = 0x3e5a0001;
  return first + uint32_t(number);
}

std::string HoistedConstants::hoist(llvm::StringRef body,
                                    const PtxKernel &kernel) {
  constexpr llvm::StringLiteral move = "\tmov.b32 \t", number = ", 0f";
  constexpr size_t digits = 8;
  std::string lines;
  for (bool isFirst = true; auto line : llvm::split(body, '\n')) {
    lines += std::exchange(isFirst, false) ? "" : "\n";
    uint32_t bits = 0;
    auto [filled, value] = line.split(number);
    if (!filled.consume_front(move) ||
        value.take_front(digits).getAsInteger(16, bits) ||
        !llvm::is_contained(kernel.constants, bits)) {
      lines += line;
      continue;
    }
    const size_t offset = values.size() * sizeof(bits);
    lines += ("\tld.const.b32 \t" + filled + ", [" + arraySymbol + "+" +
              llvm::Twine(offset) + "];")
                 .str();
    values.push_back(bits);
  }
  return lines;
}

HoistedConstants::HoistedConstants(llvm::StringRef ptx,
                                   llvm::ArrayRef<PtxKernel> kernels) {
  llvm::StringMap<const PtxKernel *> bySymbol;
  for (const PtxKernel &kernel : kernels)
    if (!kernel.constants.empty())
      bySymbol[kernel.symbol] = &kernel;
  constexpr llvm::StringLiteral entry = ".entry ", begin = "\n{",
                                header = ".address_size 64\n";
  // Up to the body of each entry, then the body, which the next entry ends.
  llvm::StringRef rest = ptx;
  for (size_t at; (at = rest.find(entry)) != llvm::StringRef::npos;) {
    const size_t name = at + entry.size(), body = rest.find(begin, name);
    if (body == llvm::StringRef::npos)
      break;
    auto kernel = bySymbol.find(rest.substr(name, rest.find('(', name) - name));
    const size_t inside = body + begin.size();
    hoisted += rest.take_front(inside);
    rest = rest.drop_front(inside);
    llvm::StringRef text = rest.take_front(rest.find(entry));
    if (kernel == bySymbol.end())
      hoisted += text;
    else
      hoisted += hoist(text, *kernel->second);
    rest = rest.drop_front(text.size());
  }
  hoisted += rest;
  if (values.empty())
    return;
  std::string declared = ".visible .const .align 4 .b32 " + arraySymbol.str() +
                         "[" + std::to_string(values.size()) + "] = {";
  for (size_t i = 0; i < values.size(); ++i)
    declared += (i ? ", " : "") + std::to_string(placeholderOf(i));
  if (const size_t at = hoisted.find(header); at != std::string::npos)
    hoisted.insert(at + header.size(), declared + "};\n");
}

/// Where the array lies in a file of machine code; nothing without one of that
/// size.
static std::optional<size_t> findArray(llvm::StringRef file, uint64_t size) {
  using Elf = llvm::object::ELF64LE;
  auto nothing = [](llvm::Error error) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  };
  auto elf = llvm::object::ELFFile<Elf>::create(file);
  if (!elf)
    return nothing(elf.takeError());
  auto sections = elf->sections();
  if (!sections)
    return nothing(sections.takeError());
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = elf->symbols(&section);
    if (!symbols)
      return nothing(symbols.takeError());
    auto names = elf->getStringTableForSymtab(section);
    if (!names)
      return nothing(names.takeError());
    for (const Elf::Sym &symbol : *symbols) {
      auto name = symbol.getName(*names);
      if (!name)
        return nothing(name.takeError());
      if (*name != arraySymbol || symbol.st_shndx >= sections->size())
        continue;
      auto bytes = elf->getSectionContents((*sections)[symbol.st_shndx]);
      if (!bytes)
        return nothing(bytes.takeError());
      if (symbol.st_value <= bytes->size() &&
          bytes->size() - symbol.st_value >= size)
        return size_t(bytes->data() - file.bytes_begin()) + symbol.st_value;
    }
  }
  return std::nullopt;
}

bool HoistedConstants::writeInto(std::vector<char> &cubin) const {
  if (values.empty())
    return true;
  auto array = findArray(llvm::StringRef(cubin.data(), cubin.size()),
                         values.size() * sizeof(uint32_t));
  if (!array)
    return false;
  using namespace llvm::support;
  auto place = [&](size_t i) {
    return cubin.data() + *array + i * sizeof(uint32_t);
  };
  for (size_t i = 0; i < values.size(); ++i)
    if (endian::read32le(place(i)) != placeholderOf(i))
      return false;
  for (auto [i, value] : llvm::enumerate(values))
    endian::write32le(place(i), value);
  return true;
}

} // namespace tenon::codegen
