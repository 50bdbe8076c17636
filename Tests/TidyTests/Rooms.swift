import Foundation

/// Rooms of a module, one a folder, and which of them mention which others' types.
struct Rooms {
  /// A file that mentions types of another room.
  struct Mention: Hashable {
    let file: String
    let type: String
    let room: String
    let other: String
  }

  /// The rooms of the embedded library, in their order: each may know those before it, and none that comes later.
  static let order = [
    "Values", "Predicates", "Model", "Store", "Objects", "Contexts", "Migration", "Containers",
  ]

  /// Where the word behind one of these is a type's name.
  private static let keywords: Set<String> = [
    "struct", "class", "enum", "protocol", "actor", "typealias",
  ]

  let order: [String]
  let mentions: Set<Mention>

  /// - Parameter files: The text of each file by its path, which begins with the room's folder.
  init(order: [String], files: [String: String]) {
    self.order = order
    let words = files.mapValues { SwiftWords($0).words }
    var rooms: [String: Set<String>] = [:]
    // A type inside of another is mentioned behind that one's name, or among its own kind.
    var inner: [String: Set<String>] = [:]
    for (path, words) in words {
      for (keyword, name) in zip(words, words.dropFirst())
      where Self.keywords.contains(keyword.text) && name.text.first?.isUppercase == true {
        if keyword.depth == 0 {
          rooms[name.text, default: []].insert(Self.room(of: path))
        } else {
          inner[Self.room(of: path), default: []].insert(name.text)
        }
      }
    }
    var mentions: Set<Mention> = []
    for (path, words) in words {
      let room = Self.room(of: path)
      for word in words where !word.isMember && inner[room]?.contains(word.text) != true {
        guard let declaring = rooms[word.text], !declaring.contains(room) else { continue }
        for other in declaring {
          mentions.insert(Mention(file: path, type: word.text, room: room, other: other))
        }
      }
    }
    self.mentions = mentions
  }

  /// The files of the library by their path in its folder.
  ///
  /// - Parameter root: The folder of the package.
  static func files(in root: URL) -> [String: String] {
    let folder = root.appendingPathComponent("Sources/Driftless")
    let names = FileManager.default.enumerator(atPath: folder.path)
    var files: [String: String] = [:]
    while let name = names?.nextObject() as? String {
      guard name.hasSuffix(".swift") else { continue }
      files[name] = try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }
    return files
  }

  private static func room(of path: String) -> String { String(path.prefix { $0 != "/" }) }

  private func level(_ room: String) -> Int { order.firstIndex(of: room) ?? -1 }

  /// Those of rooms that come later.
  var arrowsUp: [Mention] {
    mentions.filter { level($0.other) > level($0.room) }
      .sorted { ($0.file, $0.type) < ($1.file, $1.type) }
  }

  /// A line a room, a column for each that comes before it, with a dot where it uses that one's types.
  var picture: String {
    let arrows = Set(mentions.map { [$0.room, $0.other] })
    let width = order.map(\.count).max() ?? 0
    func cell(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: width - text.count)
    }
    var lines = [([cell("", width)] + order.dropLast()).joined(separator: "  ")]
    for (index, room) in order.enumerated() {
      let cells = order[..<index].map { cell(arrows.contains([room, $0]) ? "●" : "·", $0.count) }
      lines.append(([cell(room, width)] + cells).joined(separator: "  "))
    }
    return lines.map { line in
      String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }
}
