import Crypto
import Driftless
import DriftlessSQLite
import Foundation

/// Until where an import of a file came that adds to numbers or takes only what is missing, and has not reached its end: an import
/// that is killed cannot say it, and who imports the file again from its beginning adds twice, or has what it brought pass for
/// what was there before. It is kept in the store, in the transaction of what is
/// saved up to there, of each such file.
struct ImportPlace: Equatable {
  /// A line each.
  static let setting = "import.places"
  /// The same of those with lines that were passed over: programs of before can read none of them, and take them for damage.
  static let missingSetting = "import.placesOfMissing"
  /// The import that each of these is of, where that may be under way: a line each, with its number before the words of the place.
  static let ownerSetting = "import.owners"
  /// What programs of before kept, of one file.
  static let formerSetting = "import.place"
  /// How many bytes at the file's beginning, and before the place, tell it from another one.
  private static let comparedBytes = 4096
  private static let noLine = "-"

  /// The last line that is saved, and the bytes up to its end.
  var line: Int
  var position: Int
  private var digest: String
  /// The first line up to there that refers to a later one, and has no reference so far.
  var waitingLine: Int?
  /// Where only what is missing is taken: whose lines were passed over up to there.
  var passedOver: PassedOverLines?
  /// The import that came so far (`ImportPresence`).
  private(set) var owner: Int64?

  /// Nil of a pipe, whose beginning is not kept.
  init?(
    _ reader: LineReader, of bytes: ImportBytes, waitingLine: Int?, passedOver: PassedOverLines?,
    by owner: Int64?
  ) throws(ImportBytes.ReadFailure) {
    guard let digest = try Self.digest(of: bytes, at: reader.position) else { return nil }
    (line, position) = (reader.number, reader.position)
    self.digest = digest
    self.waitingLine = waitingLine
    self.passedOver = passedOver
    self.owner = owner
  }

  /// Nil for what cannot be read.
  private init?(text: some StringProtocol) {
    let parts = text.split(separator: " ")
    guard (3...5).contains(parts.count), let line = Int(parts[0]), let position = Int(parts[1]),
      line > 0, position > 0
    else { return nil }
    self.line = line
    self.position = position
    digest = String(parts[2])
    if parts.count > 4 { passedOver = PassedOverLines(name: String(parts[4])) }
    if parts.count > 3, parts.count == 4 || parts[3] != Self.noLine {
      guard let waiting = Int(parts[3]), (1...line).contains(waiting) else { return nil }
      waitingLine = waiting
    }
  }

  private var text: String {
    var words = ["\(line)", "\(position)", digest]
    if let waitingLine { words.append("\(waitingLine)") }
    if let passedOver {
      if waitingLine == nil { words.append(Self.noLine) }
      words.append(passedOver.name)
    }
    return words.joined(separator: " ")
  }

  private static func digest(
    of bytes: ImportBytes, at position: Int
  ) throws(ImportBytes.ReadFailure) -> String? {
    let count = min(position, comparedBytes)
    guard let beginning = try bytes.bytes(at: 0, count: count),
      let end = try bytes.bytes(at: position - count, count: count)
    else { return nil }
    var hash = SHA256()
    hash.update(data: beginning)
    hash.update(data: end)
    return hash.finalize().prefix(16).map { String(format: "%02x", $0) }.joined()
  }

  /// Whether a file has, up to the place, the bytes of the one that was imported.
  private func isIn(_ bytes: ImportBytes) throws(ImportBytes.ReadFailure) -> Bool {
    try Self.digest(of: bytes, at: position) == digest
  }

  // MARK: - In the store

  /// Those that a store has; what cannot be read is none.
  private static func all(_ transaction: ReadTransaction) throws -> [ImportPlace] {
    // Two imports of equal lines have two places of equal words.
    var owners: [Substring: [Int64]] = [:]
    if case .text(let text)? = try transaction.setting(ownerSetting) {
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ", maxSplits: 1)
        if words.count == 2, let owner = Int64(words[0]) {
          owners[words[1], default: []].append(owner)
        }
      }
    }
    return try [formerSetting, setting, missingSetting].flatMap { setting -> [ImportPlace] in
      guard case .text(let text)? = try transaction.setting(setting) else { return [] }
      return text.split(separator: "\n").compactMap { line in
        var place = ImportPlace(text: line)
        place?.owner = owners[line]?.popLast()
        return place
      }
    }
  }

  /// Those that a store has of a file, the furthest one last, without those of imports that are under way elsewhere: these are of
  /// other files with equal lines.
  static func all(
    of bytes: ImportBytes, in store: PersistentStore, beside presence: ImportPresence?
  ) throws -> [ImportPlace] {
    let left = try store.read { try all($0) }.filter { place in
      if let owner = place.owner, presence?.isUnderWay(owner) == true { return false }
      return try place.isIn(bytes)
    }
    guard !left.isEmpty else { return [] }
    // What came to its end between the two looks took its place away before it was no more under way.
    let kept = try store.read { try all($0) }
    return left.filter { kept.contains($0) }.sorted { $0.line < $1.line }
  }

  /// - Parameter former: what was kept of the file before.
  func keep(in transaction: WriteTransaction, inPlaceOf former: [ImportPlace]) throws {
    try Self.save(Self.all(transaction).filter { !former.contains($0) } + [self], in: transaction)
    // Once for each import: what others left is looked for among all that is kept.
    guard former.map(\.passedOver) != [passedOver] else { return }
    try Self.dropPassedOver(in: transaction)
  }

  /// Removes the lines passed over that no place has.
  private static func dropPassedOver(in transaction: WriteTransaction) throws {
    try PassedOverLines.drop(except: all(transaction).compactMap(\.passedOver), in: transaction)
  }

  private static func save(_ places: [ImportPlace], in transaction: WriteTransaction) throws {
    for (setting, isMissing) in [(setting, false), (missingSetting, true)] {
      let lines = places.filter { ($0.passedOver != nil) == isMissing }.map(\.text)
      try transaction.setSetting(
        setting, lines.isEmpty ? nil : .text(lines.joined(separator: "\n")))
    }
    let owners = places.compactMap { place in place.owner.map { "\($0) \(place.text)" } }
    try transaction.setSetting(
      ownerSetting, owners.isEmpty ? nil : .text(owners.joined(separator: "\n")))
    try transaction.setSetting(formerSetting, nil)
  }

  /// The file was imported to its end.
  static func drop(_ places: [ImportPlace], in store: PersistentStore) throws {
    guard !places.isEmpty else { return }
    _ = try store.write(TransactionInfo()) { transaction in
      try save(all(transaction).filter { !places.contains($0) }, in: transaction)
      try dropPassedOver(in: transaction)
    }
  }
}
