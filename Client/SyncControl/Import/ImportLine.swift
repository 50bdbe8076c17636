/// One line of an import file, as written.
struct ImportLine: Hashable {
  enum Operation: Hashable {
    case insert(entity: String, id: String, set: [JSONValue.Member])
    case update(entity: String, id: String, set: [JSONValue.Member])
    /// An insert where there is no object of the id, and an update where there is one.
    case upsert(entity: String, id: String, set: [JSONValue.Member])
    case delete(entity: String, id: String)
    case save(author: String?)

    /// What there may be after the line, and was not before.
    var insertion: (entity: String, id: String)? {
      switch self {
      case .insert(let entity, let id, _), .upsert(let entity, let id, _): (entity, id)
      case .update, .delete, .save: nil
      }
    }
  }

  /// The line's number in the file, from 1.
  var number: Int
  var operation: Operation
  /// What an update or an upsert adds to numbers of its object.
  var add: [JSONValue.Member] = []
  /// Properties whose values are taken though the model refuses them: the store had them so that the line was exported from.
  var unfit: [String] = []

  /// How many properties had their values in a zone, and not in the store that the line was exported from: they stay as they are.
  var inZone = 0

  /// Reads a line that is not blank.
  init(_ bytes: UnsafeBufferPointer<UInt8>, number: Int) throws(ImportError) {
    self.number = number
    let value: JSONValue
    do throws(JSONParser.Failure) {
      value = try JSONParser.parse(bytes)
    } catch {
      throw ImportError(line: number, "column \(error.column): \(error.message)")
    }
    guard case .object(let members) = value else {
      throw ImportError(line: number, "a line is one JSON object, not \(value.kind)")
    }
    var fields = Fields(line: number, members: members)
    switch try fields.text("op") {
    case "insert":
      operation = .insert(
        entity: try fields.text("entity"), id: try fields.text("id"), set: try fields.object("set"))
    case "update":
      operation = .update(
        entity: try fields.text("entity"), id: try fields.text("id"), set: try fields.object("set"))
      add = try fields.object("add")
    case "upsert":
      operation = .upsert(
        entity: try fields.text("entity"), id: try fields.text("id"), set: try fields.object("set"))
      add = try fields.object("add")
    case "delete":
      operation = .delete(entity: try fields.text("entity"), id: try fields.text("id"))
    case "save":
      let author = fields.has("author") ? try fields.text("author") : nil
      if let author, let reason = AuthorName.obstacle(author) {
        throw ImportError(line: number, "\"author\" \(reason)")
      }
      operation = .save(author: author)
    case let other:
      throw ImportError(
        line: number, "\"op\" is \"\(other)\"; it is insert, update, upsert, delete or save")
    }
    switch operation {
    case .insert, .update, .upsert:
      unfit = try fields.texts("unfit")
      inZone = try fields.object("inZone").count
    case .delete, .save: break
    }
    try fields.end()
  }

  /// The members of a line, each read once; what is left over at the end is a mistake.
  private struct Fields {
    let line: Int
    var members: [JSONValue.Member]

    func has(_ name: String) -> Bool { members.contains { $0.name == name } }

    private mutating func take(_ name: String) -> JSONValue? {
      guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
      return members.remove(at: index).value
    }

    mutating func text(_ name: String) throws(ImportError) -> String {
      guard let value = take(name) else { throw ImportError(line: line, "\"\(name)\" is missing") }
      guard case .string(let text) = value, !text.isEmpty else {
        throw ImportError(line: line, "\"\(name)\" is a text that is not empty, not \(value.kind)")
      }
      return text
    }

    mutating func object(_ name: String) throws(ImportError) -> [JSONValue.Member] {
      guard let value = take(name) else { return [] }
      guard case .object(let members) = value else {
        throw ImportError(line: line, "\"\(name)\" is an object, not \(value.kind)")
      }
      return members
    }

    mutating func texts(_ name: String) throws(ImportError) -> [String] {
      guard let value = take(name) else { return [] }
      guard case .array(let elements) = value else {
        throw ImportError(line: line, "\"\(name)\" is an array of names, not \(value.kind)")
      }
      var texts: [String] = []
      for element in elements {
        guard case .string(let text) = element else {
          throw ImportError(line: line, "\"\(name)\" is an array of names, not of \(element.kind)")
        }
        texts.append(text)
      }
      return texts
    }

    func end() throws(ImportError) {
      guard let extra = members.first else { return }
      throw ImportError(line: line, "\"\(extra.name)\" has no place in this line")
    }
  }
}

/// What is wrong with a line.
struct ImportError: Error, Hashable {
  var line: Int
  var message: String
  /// What to do, where that is not to correct the line.
  var suggestion: String?
  /// Whether nothing is wrong with it, and somebody does not want the import to go on.
  var isInterrupted = false
  /// Whether it is the file that cannot be read, whatever its lines say.
  var isOfFile = false
  /// Whether the line makes an object that is there.
  var isThereAlready = false

  init(line: Int, _ message: String, suggestion: String? = nil) {
    self.line = line
    self.message = message
    self.suggestion = suggestion
  }
}
