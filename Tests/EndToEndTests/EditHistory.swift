import Foundation
import TestSupport

/// A real edit history: who changed which object how, commit by commit, and the end state.
struct EditHistory {
  struct Change {
    var entity: String
    var id: String
    var operation: String
    var set: [String: Any]
  }

  struct Commit {
    var author: Int
    var changes: [Change]
  }

  /// What kind of attribute holds a property of the data.
  enum Kind: String {
    case text = "String"
    case integer = "Integer 64"
    case real = "Double"
    /// Lists, and properties whose type changed over the years: kept as JSON text.
    case json = "JSON"
  }

  private(set) var commits: [Commit] = []
  private(set) var kinds: [String: [String: Kind]] = [:]

  /// The lines of a file of the shared data.
  static func lines(of path: String) throws -> [Substring] {
    String(decoding: try SharedData.unpacked(path), as: UTF8.self).split(separator: "\n")
  }

  init(changes path: String) throws {
    var current = -1
    for line in try Self.lines(of: path) {
      guard
        let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
        let entity = row["e"] as? String, let id = row["id"] as? String,
        let operation = row["op"] as? String, let commit = row["c"] as? Int,
        let author = row["author"] as? Int
      else { throw HarnessError(description: "not a change: \(line)") }
      let set = row["set"] as? [String: Any] ?? [:]
      for (name, value) in set { learn(entity: entity, name: name, value: value) }
      if commit != current {
        commits.append(Commit(author: author, changes: []))
        current = commit
      }
      commits[commits.count - 1].changes.append(
        Change(entity: entity, id: id, operation: operation, set: set))
    }
  }

  private mutating func learn(entity: String, name: String, value: Any) {
    let kind: Kind
    switch value {
    case is NSNull: return
    case is String: kind = .text
    case let number as NSNumber: kind = "\(number)".contains(".") ? .real : .integer
    default: kind = .json
    }
    let known = kinds[entity, default: [:]][name]
    switch (known, kind) {
    case (nil, _): kinds[entity, default: [:]][name] = kind
    case (.integer, .real): kinds[entity, default: [:]][name] = .real
    case (.real, .integer): break
    case let (known?, kind) where known != kind: kinds[entity, default: [:]][name] = .json
    default: break
    }
  }

  /// The model: an attribute for each property, and the object's own key.
  var model: ModelText {
    ModelText(
      entities: kinds.keys.sorted().map { entity in
        .init(
          name: entity,
          attributes: [("key", "String", nil)]
            + (kinds[entity] ?? [:]).sorted { $0.key < $1.key }.map { name, kind in
              (Self.attribute(name), kind == .json ? "String" : kind.rawValue, nil)
            })
      })
  }

  /// The attribute that holds the property `name` of the data.
  static func attribute(_ name: String) -> String {
    "p_" + name.replacingOccurrences(of: ".", with: "_").replacingOccurrences(of: "-", with: "_")
  }

  /// The property values as `syncctl` takes and prints them.
  func values(entity: String, _ set: [String: Any]) throws -> [String: Any] {
    var values: [String: Any] = [:]
    for (name, value) in set {
      guard let kind = kinds[entity]?[name] else { continue }  // only ever null
      if kind == .json, !(value is NSNull) {
        let text = try JSONSerialization.data(
          withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys])
        values[Self.attribute(name)] = String(decoding: text, as: UTF8.self)
      } else {
        values[Self.attribute(name)] = value
      }
    }
    return values
  }

  /// The import line of a change.
  func line(_ change: Change, operation: String? = nil) throws -> String {
    let operation = operation ?? change.operation
    var line: [String: Any] = ["op": operation, "entity": change.entity, "id": change.id]
    if operation != "delete" {
      var set = try values(entity: change.entity, change.set)
      if operation == "insert" { set["key"] = change.id }
      line["set"] = set
    }
    return try jsonLine(line)
  }
}
