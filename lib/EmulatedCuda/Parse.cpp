//===- Parse.cpp - From PTX text to a decoded program ---------------------===//
//
// Reads the PTX that LLVM's NVPTX back end prints, inline assembly in it
// included. Whatever it does not know is an error with the line, for a guess
// would execute something else than the GPU does.
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include <algorithm>
#include <cstring>
#include <set>

using namespace tenon::emulated;

namespace {

class Parser {
public:
  Parser(std::string_view text,
         uint64_t (*placeGlobal)(void *, const Variable &), void *context)
      : text(text), placeGlobal(placeGlobal), context(context) {
    advance();
  }

  std::unique_ptr<Program> parseModule();

private:
  [[noreturn]] void fail(const std::string &what, uint32_t at) {
    throw Fault{CUDA_ERROR_INVALID_PTX,
                "PTX line " + std::to_string(at) + ": " + what};
  }
  [[noreturn]] void fail(const std::string &what) { fail(what, tokenLine); }

  // --- Words of the text.
  void advance();
  bool accept(std::string_view word) {
    if (token != word)
      return false;
    advance();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word))
      fail("found '" + std::string(token) + "', expected '" +
           std::string(word) + "'");
  }
  std::string take() {
    if (token.empty())
      fail("the text ends too early");
    std::string taken(token);
    advance();
    return taken;
  }
  uint64_t takeInteger();
  /// The rest of the present line, the token included, as it stands.
  std::string_view takeLine();

  // --- Declarations.
  void parseDirective(Function *function);
  void parseFunction();
  void parseVariable(Space space, Function *function);
  void parseRegisters(Function &function);
  void parseBody(Function &function);
  static unsigned bytesOf(const std::string &type);

  // --- Instructions.
  void parseInstruction(Function &function);
  void readModifiers(Instruction &instruction);
  Operand parseOperand(Function &function, Instruction &instruction, char role,
                       unsigned bits);
  Operand parseAddress(Function &function, Instruction &instruction);
  Operand constant(Function &function, uint64_t value, unsigned bits);
  bool parseConstant(uint64_t &value, unsigned bits);
  const Variable *findVariable(Function &function, const std::string &name);
  void finish(Function &function);

  std::string_view text;
  size_t position = 0;
  uint32_t line = 1, tokenLine = 1;
  size_t tokenStart = 0;
  std::string_view token;

  uint64_t (*placeGlobal)(void *, const Variable &);
  void *context;
  std::unique_ptr<Program> program = std::make_unique<Program>();

  std::vector<std::map<std::string, RegisterPlace, std::less<>>> scopes;
  std::map<std::string, uint32_t> labels;
  std::vector<std::pair<uint32_t, std::string>> pendingLabels;
  /// Lists of labels by name, and the indexed branches that use them.
  std::map<std::string, std::vector<std::string>> branchTargets;
  std::vector<std::pair<uint32_t, std::string>> pendingTargets;
  uint32_t sourceFile = 0, sourceLine = 0, sourceColumn = 0;
};

bool isWordCharacter(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

void Parser::advance() {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n') {
      ++line;
      ++position;
    } else if (isspace(static_cast<unsigned char>(c))) {
      ++position;
    } else if (text.substr(position, 2) == "//") {
      while (position < text.size() && text[position] != '\n')
        ++position;
    } else if (text.substr(position, 2) == "/*") {
      size_t close = text.find("*/", position + 2);
      close = close == std::string_view::npos ? text.size() : close + 2;
      for (; position < close; ++position)
        line += text[position] == '\n';
    } else {
      break;
    }
  }
  tokenStart = position;
  tokenLine = line;
  if (position >= text.size()) {
    token = {};
    return;
  }
  if (text[position] == '"') {
    size_t close = text.find('"', position + 1);
    position = close == std::string_view::npos ? text.size() : close + 1;
  } else if (isWordCharacter(text[position])) {
    while (position < text.size() &&
           (isWordCharacter(text[position]) ||
            (text.substr(position, 2) == "::" && (position += 1))))
      ++position;
  } else {
    ++position;
  }
  token = text.substr(tokenStart, position - tokenStart);
}

std::string_view Parser::takeLine() {
  size_t end = text.find('\n', tokenStart);
  if (end == std::string_view::npos)
    end = text.size();
  std::string_view rest = text.substr(tokenStart, end - tokenStart);
  position = end;
  line = tokenLine;
  advance();
  return rest;
}

uint64_t Parser::takeInteger() {
  bool negative = accept("-");
  std::string word = take();
  char *end = nullptr;
  uint64_t value = strtoull(word.c_str(), &end, 0);
  if (*end == 'U')
    ++end;
  if (*end)
    fail("found '" + word + "', expected an integer");
  return negative ? -value : value;
}

unsigned Parser::bytesOf(const std::string &type) {
  static const std::map<std::string, unsigned> sizes = {
      {".b8", 1},    {".u8", 1},   {".s8", 1},   {".b16", 2}, {".u16", 2},
      {".s16", 2},   {".f16", 2},  {".b32", 4},  {".u32", 4}, {".s32", 4},
      {".f32", 4},   {".b64", 8},  {".u64", 8},  {".s64", 8}, {".f64", 8},
      {".f16x2", 4}, {".bf16", 2}, {".f32x2", 8}};
  auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

std::unique_ptr<Program> Parser::parseModule() {
  while (!token.empty()) {
    if (accept(".version")) {
      std::string version = take();
      size_t dot = version.find('.');
      program->ptxVersion =
          10 * atoi(version.c_str()) +
          (dot == std::string::npos ? 0 : atoi(&version[dot + 1]));
    } else if (accept(".target")) {
      std::string target = take();
      if (target.rfind("sm_", 0) != 0)
        fail("found target '" + target + "', expected sm_N");
      program->target = atoi(target.c_str() + 3);
      while (accept(","))
        take();
    } else if (accept(".address_size")) {
      if (takeInteger() != 64)
        fail("addresses must have 64 bits");
    } else if (token == ".section") {
      while (!token.empty() && token != "{")
        advance();
      while (!token.empty() && token != "}")
        advance();
      expect("}");
    } else if (token == ".visible" || token == ".extern" || token == ".weak" ||
               token == ".entry" || token == ".func" || token == ".global" ||
               token == ".const" || token == ".shared") {
      parseFunction();
    } else {
      parseDirective(nullptr);
    }
  }
  if (!program->ptxVersion || !program->target)
    fail("a module begins with .version and .target", 1);
  return std::move(program);
}

/// A declaration at the module's level, with its linkage.
void Parser::parseFunction() {
  bool external = false;
  while (token == ".visible" || token == ".extern" || token == ".weak") {
    external |= token == ".extern";
    advance();
  }
  if (accept(".global"))
    return parseVariable(Space::Global, nullptr);
  if (accept(".const"))
    return parseVariable(Space::Constant, nullptr);
  if (accept(".shared"))
    return parseVariable(Space::Shared, nullptr);
  if (token == ".func")
    fail("functions that are not inlined are not supported");
  expect(".entry");
  auto function = std::make_unique<Function>();
  function->name = take();
  scopes.assign(1, {});
  labels.clear();
  pendingLabels.clear();
  branchTargets.clear();
  pendingTargets.clear();
  sourceFile = sourceLine = sourceColumn = 0;
  for (uint32_t i = 0; i < specialCount; ++i) {
    scopes[0][std::string(specialRegisters[i])] = {i, i * 4 * laneCount, 32};
    function->registerCount = i + 1;
    function->registerBytes = (i + 1) * 4 * laneCount;
  }
  if (accept("(")) {
    while (!accept(")")) {
      expect(".param");
      unsigned bytes = 0, alignment = 0;
      while (token.starts_with(".")) {
        std::string word = take();
        if (word == ".align")
          alignment = std::max<unsigned>(alignment, bytes ? 0 : takeInteger());
        if (word == ".align" && bytes)
          takeInteger();
        if (unsigned size = bytesOf(word))
          bytes = size;
      }
      alignment = std::max(alignment, bytes);
      std::string name = take();
      if (accept("[")) {
        bytes *= takeInteger();
        expect("]");
      }
      uint32_t offset =
          (function->parameterBytes + alignment - 1) / alignment * alignment;
      function->parameters.push_back({name, offset, bytes});
      function->parameterBytes = offset + bytes;
      accept(",");
    }
  }
  while (token.starts_with("."))
    parseDirective(function.get());
  if (external && accept(";"))
    return;
  parseBody(*function);
  finish(*function);
  std::string name = function->name;
  program->functions[name] = std::move(function);
}

void Parser::parseDirective(Function *function) {
  uint32_t at = tokenLine;
  if (token == ".file") {
    // .file 1 "step.mlir"
    advance();
    uint32_t number = takeInteger();
    std::string name = take();
    program->files[number] =
        name.size() > 1 ? name.substr(1, name.size() - 2) : name;
    while (accept(","))
      takeInteger();
    return;
  }
  if (token == ".loc") {
    std::string words(takeLine().substr(4));
    if (sscanf(words.c_str(), "%u %u %u", &sourceFile, &sourceLine,
               &sourceColumn) != 3)
      fail("found '.loc" + words + "', expected file, line and column", at);
    return;
  }
  if (accept(".pragma")) {
    take();
    expect(";");
    return;
  }
  if (function && (token == ".reqntid" || token == ".maxntid")) {
    auto &extents = take() == ".reqntid" ? function->requiredThreads
                                         : function->mostThreads;
    extents = {1, 1, 1};
    unsigned i = 0;
    do {
      if (i == 3)
        fail("found a fourth extent");
      extents[i++] = takeInteger();
    } while (accept(","));
    return;
  }
  if (function && (token == ".minnctapersm" || token == ".maxnreg")) {
    advance();
    takeInteger();
    return;
  }
  fail("unknown directive '" + std::string(token) + "'", at);
}

void Parser::parseVariable(Space space, Function *function) {
  Variable variable{"", space};
  unsigned bytes = 0;
  while (token.starts_with(".")) {
    std::string word = take();
    if (word == ".align")
      variable.alignment = takeInteger();
    else if (unsigned size = bytesOf(word))
      bytes = size;
    else if (word != ".attribute")
      fail("unknown word '" + word + "' in the declaration of a variable");
  }
  if (!bytes)
    fail("found a variable without a type");
  variable.alignment = std::max(variable.alignment, bytes);
  variable.name = take();
  variable.bytes = bytes;
  while (accept("[")) {
    if (token == "]") {
      variable.dynamic = true;
      variable.bytes = 0;
    } else {
      variable.bytes *= takeInteger();
    }
    expect("]");
  }
  if (accept("=")) {
    variable.hasInitial = true;
    bool list = accept("{");
    do {
      uint64_t value = 0;
      if (!parseConstant(value, bytes * 8))
        fail("found '" + std::string(token) + "', expected a constant");
      for (unsigned i = 0; i < bytes; ++i)
        variable.initial.push_back(value >> (8 * i));
    } while (list && accept(","));
    if (list)
      expect("}");
  }
  expect(";");
  if (space == Space::Shared && variable.hasInitial)
    fail("shared memory cannot have initial values");
  if (space == Space::Global || space == Space::Constant)
    variable.address = placeGlobal(context, variable);
  if (function)
    function->variables.push_back(std::move(variable));
  else
    program->variables.push_back(std::move(variable));
}

void Parser::parseRegisters(Function &function) {
  std::string type = take();
  unsigned bits = type == ".pred" ? 1 : 8 * bytesOf(type);
  if (!bits)
    fail("unknown type '" + type + "' of registers");
  do {
    std::string name = take();
    uint32_t count = 1;
    bool numbered = accept("<");
    if (numbered) {
      count = takeInteger();
      expect(">");
    }
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t bytes = bits == 1 ? 4 : bits / 8 * laneCount;
      // Lanes are aligned, so that any of them is read as its type.
      function.registerBytes = (function.registerBytes + 7) / 8 * 8;
      scopes.back()[numbered ? name + std::to_string(i) : name] = {
          function.registerCount++, function.registerBytes,
          static_cast<uint8_t>(bits)};
      function.registerBytes += bytes;
    }
  } while (accept(","));
  expect(";");
}

void Parser::parseBody(Function &function) {
  expect("{");
  unsigned depth = 1;
  while (depth) {
    if (accept("{")) {
      ++depth;
      scopes.emplace_back();
    } else if (accept("}")) {
      --depth;
      if (depth)
        scopes.pop_back();
    } else if (accept(".reg")) {
      parseRegisters(function);
    } else if (accept(".shared")) {
      parseVariable(Space::Shared, &function);
    } else if (accept(".local")) {
      parseVariable(Space::Local, &function);
      Variable &variable = function.variables.back();
      variable.address = (function.localBytes + variable.alignment - 1) /
                         variable.alignment * variable.alignment;
      function.localBytes = variable.address + variable.bytes;
    } else if (token.empty()) {
      fail("the text ends within '" + function.name + "'");
    } else if (token.starts_with(".")) {
      parseDirective(&function);
    } else {
      parseInstruction(function);
    }
  }
}

/// Resolves labels and places dynamic shared memory.
void Parser::finish(Function &function) {
  auto placeOf = [&](const std::string &name, uint32_t instruction) {
    auto found = labels.find(name);
    if (found == labels.end())
      fail("unknown label '" + name + "'", function.code[instruction].line);
    return found->second;
  };
  for (auto &[instruction, name] : pendingLabels)
    function.code[instruction].target = placeOf(name, instruction);
  for (auto &[instruction, name] : pendingTargets) {
    auto found = branchTargets.find(name);
    if (found == branchTargets.end())
      fail("unknown list of labels '" + name + "'",
           function.code[instruction].line);
    for (const std::string &label : found->second)
      function.code[instruction].targets.push_back(placeOf(label, instruction));
  }
  // Dynamic shared memory lies behind the static one; `first` marks what names
  // it.
  function.dynamicBase = (sharedBase + function.sharedBytes + 127) / 128 * 128;
  auto relocate = [&](Operand &operand) {
    if (operand.first != 1 || operand.kind == Operand::Vector)
      return;
    if (operand.kind == Operand::Address)
      operand.value += function.dynamicBase;
    else if (operand.kind == Operand::Constant)
      operand = constant(function, function.dynamicBase, operand.bits);
  };
  for (Instruction &instruction : function.code)
    for (auto *list : {&instruction.operands, &instruction.elements})
      for (Operand &operand : *list)
        relocate(operand);
  findMeetingPoints(function);
}

const Variable *Parser::findVariable(Function &function,
                                     const std::string &name) {
  for (Variable &variable : function.variables)
    if (variable.name == name) {
      if (variable.space == Space::Shared && !variable.address) {
        variable.address =
            (sharedBase + function.sharedBytes + variable.alignment - 1) /
            variable.alignment * variable.alignment;
        function.sharedBytes = variable.address + variable.bytes - sharedBase;
      }
      return &variable;
    }
  for (Variable &variable : program->variables)
    if (variable.name == name) {
      if (variable.space != Space::Shared)
        return &variable;
      // A function has its own copy of each shared variable that it names.
      function.variables.push_back(variable);
      if (!variable.dynamic)
        return findVariable(function, name);
      return &function.variables.back();
    }
  return nullptr;
}

bool Parser::parseConstant(uint64_t &value, unsigned bits) {
  bool negative = token == "-";
  if (!negative &&
      (token.empty() || !isdigit(static_cast<unsigned char>(token[0]))))
    return false;
  if (token.size() > 2 && token[0] == '0' && strchr("fFdD", token[1])) {
    // 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX are the bits of a float and of a
    // double.
    std::string word = take();
    value = strtoull(word.c_str() + 2, nullptr, 16);
    bool isDouble = word[1] == 'd' || word[1] == 'D';
    if (word.size() != (isDouble ? 18 : 10) || bits != (isDouble ? 64 : 32))
      fail("constant '" + word + "' does not fit an operand of " +
           std::to_string(bits) + " bits");
    return true;
  }
  value = takeInteger();
  return true;
}

Operand Parser::constant(Function &function, uint64_t value, unsigned bits) {
  Operand operand;
  operand.kind = Operand::Constant;
  operand.bits = bits;
  operand.value = value;
  auto &lanes = function.constants.emplace_back();
  if (bits == 1) {
    lanes[0] = value ? ~uint64_t(0) : 0;
  } else {
    for (unsigned lane = 0; lane < laneCount; ++lane)
      memcpy(reinterpret_cast<char *>(lanes.data()) + lane * bits / 8, &value,
             bits / 8);
  }
  operand.lanes = lanes.data();
  return operand;
}

/// Null for the name of anything else.
static const Parameter *findParameter(const Function &function,
                                      const std::string &name) {
  for (const Parameter &parameter : function.parameters)
    if (parameter.name == name)
      return &parameter;
  return nullptr;
}

Operand Parser::parseAddress(Function &function, Instruction &instruction) {
  Operand operand;
  operand.kind = Operand::Address;
  std::string name = take();
  if (isdigit(static_cast<unsigned char>(name[0]))) {
    operand.value = strtoull(name.c_str(), nullptr, 0);
  } else if (const Parameter *parameter = findParameter(function, name)) {
    if (instruction.space != Space::Parameter)
      fail("the parameter '" + name + "' is not in that state space");
    operand.value = parameter->offset;
  } else {
    const RegisterPlace *base = nullptr;
    for (auto scope = scopes.rbegin(); scope != scopes.rend() && !base; ++scope)
      if (auto found = scope->find(name); found != scope->end())
        base = &found->second;
    if (base) {
      if (base->bits != 64 &&
          !(base->bits == 32 && instruction.space == Space::Shared))
        fail("an address must be a register of 64 bits, '" + name + "' has " +
             std::to_string(base->bits));
      operand.index = base->index;
      operand.offset = base->offset;
      operand.bits = base->bits;
    } else if (const Variable *variable = findVariable(function, name)) {
      if (variable->dynamic && variable->space == Space::Shared)
        operand.first = 1; // dynamic shared memory begins where the launch says
      operand.value = variable->address;
      if (instruction.space == Space::Generic)
        fail("a generic address cannot name the variable '" + name + "'");
    } else {
      fail("unknown name '" + name + "' in an address");
    }
  }
  if (accept("+"))
    operand.value += takeInteger();
  else if (token == "-")
    operand.value += takeInteger();
  expect("]");
  return operand;
}

/// One operand, which the form's letter says the role and type of.
Operand Parser::parseOperand(Function &function, Instruction &instruction,
                             char role, unsigned bits) {
  Operand operand;
  if (role == '[') {
    expect("[");
    return parseAddress(function, instruction);
  }
  if (token == "{") {
    if (instruction.opcode.starts_with("mov."))
      bits /= 1 + std::count(text.begin() + tokenStart,
                             text.begin() + std::min(text.find('}', tokenStart),
                                                     text.size()),
                             ',');
    advance();
    std::vector<Operand> elements;
    do
      elements.push_back(parseOperand(function, instruction, role, bits));
    while (accept(","));
    expect("}");
    operand.kind = Operand::Vector;
    operand.first = instruction.elements.size();
    operand.count = elements.size();
    for (Operand &element : elements)
      instruction.elements.push_back(element);
    return operand;
  }
  if (role == 'd' && accept("_")) {
    operand.kind = Operand::Sink;
    return operand;
  }
  uint64_t value = 0;
  operand.inverted = bits == 1 && accept("!");
  if (role != 'd' && parseConstant(value, bits))
    return constant(function, value, bits);
  std::string name = take();
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto found = scope->find(name);
    if (found == scope->end())
      continue;
    if (role == 'd' && found->second.index < specialCount)
      fail("'" + name + "' cannot be written");
    operand.kind = Operand::Register;
    operand.index = found->second.index;
    operand.offset = found->second.offset;
    operand.bits = found->second.bits;
    (role == 'd' ? instruction.writes : instruction.reads)
        .push_back(operand.index);
    return operand;
  }
  if (role == 'd')
    fail("unknown register '" + name + "'");
  if (bits == 1 && (name == "true" || name == "false"))
    return constant(function, (name == "true") != operand.inverted, 1);
  if (name == "WARP_SZ")
    return constant(function, laneCount, bits);
  if (const Variable *variable = findVariable(function, name)) {
    if (variable->dynamic && variable->space == Space::Shared) {
      operand = constant(function, 0, bits);
      operand.first = 1;
      return operand;
    }
    return constant(function, variable->address, bits);
  }
  // Parameters are addressed from the first one on.
  if (const Parameter *parameter = findParameter(function, name))
    return constant(function, parameter->offset, bits);
  fail("unknown name '" + name + "'");
}

void Parser::readModifiers(Instruction &instruction) {
  static const std::map<std::string, Rounding, std::less<>> roundings = {
      {"rn", Rounding::Nearest}, {"rni", Rounding::Nearest},
      {"rz", Rounding::Zero},    {"rzi", Rounding::Zero},
      {"rm", Rounding::Down},    {"rmi", Rounding::Down},
      {"rp", Rounding::Up},      {"rpi", Rounding::Up},
      {"rna", Rounding::Away}};
  static const std::map<std::string, Space, std::less<>> spaces = {
      {"global", Space::Global},      {"shared", Space::Shared},
      {"shared::cta", Space::Shared}, {"local", Space::Local},
      {"const", Space::Constant},     {"param", Space::Parameter}};
  static const std::set<std::string, std::less<>> atomicOperations = {"atom",
                                                                      "red"};
  std::string_view rest = instruction.opcode;
  bool first = true;
  while (!rest.empty()) {
    size_t dot = rest.find('.');
    std::string word(rest.substr(0, dot));
    rest = dot == std::string_view::npos ? std::string_view()
                                         : rest.substr(dot + 1);
    if (first) {
      first = false;
      continue;
    }
    if (auto found = roundings.find(word); found != roundings.end())
      instruction.rounding = found->second;
    else if (auto found = spaces.find(word);
             found != spaces.end() && instruction.space == Space::Generic)
      instruction.space = found->second;
    else if (word == "ftz")
      instruction.flush = true;
    else if (word == "sat")
      instruction.saturate = true;
    else if (word == "NaN")
      instruction.propagateNaN = true;
    else if (word == "relu")
      instruction.relu = true;
    else if (word == "v2" || word == "v4" || word == "v8")
      instruction.vectorSize = word[1] - '0';
    else if (unsigned bytes = bytesOf("." + word))
      instruction.elementBits = 8 * bytes;
  }
}

void Parser::parseInstruction(Function &function) {
  if (text.substr(position, 1) == ":" && !token.starts_with("@")) {
    std::string name = take();
    expect(":");
    if (!accept(".branchtargets")) {
      labels[name] = function.code.size();
      return;
    }
    do
      branchTargets[name].push_back(take());
    while (accept(","));
    expect(";");
    return;
  }
  Instruction instruction;
  instruction.line = tokenLine;
  instruction.sourceFile = sourceFile;
  instruction.sourceLine = sourceLine;
  instruction.sourceColumn = sourceColumn;
  if (accept("@")) {
    bool inverted = accept("!");
    instruction.guard = parseOperand(function, instruction, 's', 1);
    instruction.guard.inverted = inverted;
    if (instruction.guard.bits != 1)
      fail("a guard must be a predicate");
  }
  instruction.opcode = take();
  const Form *form = FormTable::instance().find(instruction.opcode);
  if (!form) {
    std::string hint;
    std::string_view opcode = instruction.opcode;
    std::string base(opcode.substr(0, opcode.find('.')));
    if ((base == "add" || base == "sub" || base == "mul") &&
        (opcode.ends_with(".f32") || opcode.ends_with(".f64")))
      hint = "; without a rounding modifier ptxas may contract it, write ."
             "rn";
    fail("instruction '" + instruction.opcode + "' is not supported" + hint,
         instruction.line);
  }
  if (program->target < form->target)
    fail("instruction '" + instruction.opcode + "' needs sm_" +
             std::to_string(form->target) + ", the module is for sm_" +
             std::to_string(program->target),
         instruction.line);
  instruction.execute = form->execute;
  instruction.flow = form->flow;
  instruction.carriesUndefined = form->carriesUndefined;
  readModifiers(instruction);

  if (form->flow == Instruction::Branch) {
    pendingLabels.push_back(
        {static_cast<uint32_t>(function.code.size()), take()});
    expect(";");
    function.code.push_back(std::move(instruction));
    return;
  }
  const char *letters = form->operands;
  bool firstOperand = true;
  while (*letters) {
    if (*letters == ' ') {
      ++letters;
      continue;
    }
    // `?` marks operands that may be left out, `|` a second result of `d|p`.
    bool optional = *letters == '?';
    letters += optional;
    bool second = *letters == '|';
    letters += second;
    char role = *letters++;
    char *end = nullptr;
    unsigned bits = strtoul(letters, &end, 10);
    letters = end;
    if (second) {
      if (accept("|"))
        instruction.operands.push_back(
            parseOperand(function, instruction, role, bits));
      else
        instruction.operands.push_back({});
      continue;
    }
    if (!firstOperand) {
      if (token != "," && optional)
        break;
      expect(",");
    } else if (optional && token == ";") {
      break;
    }
    firstOperand = false;
    Operand operand = parseOperand(function, instruction, tolower(role), bits);
    // mov packs and unpacks: the elements share the bits. Elsewhere each has
    // them.
    const bool packed = instruction.opcode.starts_with("mov.");
    auto check = [&](const Operand &part) {
      unsigned expected = packed && operand.kind == Operand::Vector
                              ? bits / operand.count
                              : bits;
      if (part.kind == Operand::Register && part.bits != expected &&
          !(isupper(role) && expected != 1 && part.bits > expected))
        fail("'" + instruction.opcode + "' takes an operand of " +
                 std::to_string(bits) + " bits, found one of " +
                 std::to_string(part.bits),
             instruction.line);
    };
    if (operand.kind == Operand::Vector)
      for (unsigned i = 0; i < operand.count; ++i)
        check(instruction.elements[operand.first + i]);
    else
      check(operand);
    instruction.operands.push_back(operand);
  }
  if (form->flow == Instruction::IndexedBranch) {
    expect(",");
    pendingTargets.push_back(
        {static_cast<uint32_t>(function.code.size()), take()});
  }
  if (token != ";")
    fail("found '" + std::string(token) + "' after the operands of '" +
         instruction.opcode + "'");
  expect(";");
  for (const Operand &operand : instruction.operands)
    if (operand.kind == Operand::Address && operand.index >= 0)
      instruction.reads.push_back(operand.index);
  function.code.push_back(std::move(instruction));
}

} // namespace

std::unique_ptr<Program>
tenon::emulated::parse(std::string_view text,
                       uint64_t (*placeGlobal)(void *, const Variable &),
                       void *context) {
  return Parser(text, placeGlobal, context).parseModule();
}
