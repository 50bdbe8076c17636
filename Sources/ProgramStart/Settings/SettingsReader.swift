package import Foundation

/// Takes settings out of a file, and gathers all that is wrong with them.
package final class SettingsReader {
  package private(set) var complaints: [SettingsComplaint] = []

  package init() {}

  /// Notes that a setting is wrong.
  package func complain(_ line: Int?, _ name: String?, _ message: String) {
    complaints.append(SettingsComplaint(line: line, name: name, message))
  }

  /// The settings of an object; a name that is not known, or that stands twice, is complained of.
  ///
  /// - Parameters:
  ///   - what: the object's name in complaints: `the file`, `a store`.
  ///   - settings: what it may have.
  ///   - isFile: whether it may also say where its schema lies.
  package func object(
    _ node: SettingsNode, _ what: String, _ settings: [SettingDeclaration], isFile: Bool = false
  ) -> SettingsObject {
    let declared = Dictionary(settings.map { ($0.name, $0) }) { first, _ in first }
    guard case .object(let members) = node.value else {
      complain(node.line, nil, "\(what) is not a JSON object")
      return SettingsObject(line: node.line, members: [:], declared: declared, reader: self)
    }
    let names = settings.map(\.name)
    let all = isFile ? names + [SettingsSchema.reference] : names
    var known: [String: SettingsNode.Member] = [:]
    for member in members {
      if let first = known[member.name] {
        complain(
          member.line, member.name,
          "stands twice in one object (line \(first.line) has it too); only one of the two would count"
        )
      } else if all.contains(member.name) {
        known[member.name] = member
      } else {
        let near =
          Self.nearest(to: member.name, of: names)
          .map { " (did you mean \"\($0)\"?)" } ?? ""
        complain(
          member.line, member.name,
          "is no setting\(near); known are \(names.sorted().joined(separator: ", "))")
      }
    }
    let object = SettingsObject(line: node.line, members: known, declared: declared, reader: self)
    _ = object.text(SettingsSchema.reference)
    return object
  }

  /// The name that was probably meant; nil where none is near.
  package static func nearest(to text: String, of names: [String]) -> String? {
    guard text.utf8.count <= 100 else { return nil }
    let text = text.lowercased()
    let all = names.map { name in
      let other = name.lowercased()
      // The beginning of a name may be as far from it as another name.
      let isBeginning = text.count > 2 && other.hasPrefix(text)
      return (name, isBeginning ? 1 : distance(Array(text), Array(other)))
    }
    guard let best = all.min(by: { $0.1 < $1.1 }), best.1 <= max(2, text.count / 3) else {
      return nil
    }
    return best.0
  }

  /// How many letters have to be added, removed or changed.
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var row = Array(0...right.count)
    for (number, letter) in left.enumerated() {
      var diagonal = row[0]
      row[0] = number + 1
      for (column, other) in right.enumerated() {
        let change = diagonal + (letter == other ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(change, row[column] + 1, row[column + 1] + 1)
      }
    }
    return row[right.count]
  }
}

/// The known settings of one object of a file.
package struct SettingsObject {
  package let line: Int
  fileprivate let members: [String: SettingsNode.Member]
  fileprivate let declared: [String: SettingDeclaration]
  fileprivate let reader: SettingsReader

  /// The line of a setting, or of the object that does not have it.
  package func line(of name: String) -> Int { members[name]?.line ?? line }

  package func node(_ name: String) -> SettingsNode? { members[name]?.node }

  /// The settings that are there, by line.
  package var names: [String] {
    members.values.filter { $0.name != SettingsSchema.reference }.sorted {
      $0.line != $1.line ? $0.line < $1.line : $0.name < $1.name
    }
    .map(\.name)
  }

  /// A text that is not empty. It may be the name of a file, which may have every character but one.
  package func text(_ name: String) -> String? {
    guard let member = members[name] else { return nil }
    guard case .text(let text) = member.node.value, !text.isEmpty else {
      reader.complain(member.line, name, "is a text that is not empty")
      return nil
    }
    guard !text.utf8.contains(0) else {
      reader.complain(member.line, name, "has the character 0 in it")
      return nil
    }
    return text
  }

  package func flag(_ name: String) -> Bool? {
    guard let member = members[name] else { return nil }
    guard case .flag(let flag) = member.node.value else {
      reader.complain(member.line, name, "is true or false")
      return nil
    }
    return flag
  }

  package func number(_ name: String) -> Double? {
    guard let member = members[name], case .number(let range)? = declared[name]?.kind else {
      return nil
    }
    guard case .number(let text) = member.node.value, let number = Double(text),
      range.contains(number)
    else {
      reader.complain(
        member.line, name, "is a number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return number
  }

  package func whole(_ name: String) -> Int? {
    guard let member = members[name], case .whole(let range)? = declared[name]?.kind else {
      return nil
    }
    guard case .number(let text) = member.node.value, let number = Int(text),
      range.contains(number)
    else {
      reader.complain(
        member.line, name, "is a whole number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return number
  }

  /// A path; one that is relative is taken from the file's own folder.
  package func path(_ name: String, in folder: URL) -> URL? {
    text(name).map { path in
      path.hasPrefix("/")
        ? URL(fileURLWithPath: path).standardizedFileURL
        : folder.appendingPathComponent(path).standardizedFileURL
    }
  }

  /// One of the words that are declared.
  package func choice(_ name: String) -> String? {
    guard let text = text(name), case .choice(let words)? = declared[name]?.kind else { return nil }
    guard words.contains(text) else {
      reader.complain(line(of: name), name, "is one of \(words.joined(separator: ", "))")
      return nil
    }
    return text
  }

  package static let logLevels = [
    "trace", "debug", "info", "notice", "warning", "error", "critical",
  ]
}
