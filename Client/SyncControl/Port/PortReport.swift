import SwiftSource

/// What `code port` did to the files of a folder.
struct PortReport: Encodable {
  struct File: Encodable {
    /// Below the folder.
    var path: String
    var isChanged: Bool
    var notes: [SourcePort.Note]
    /// Why nothing was done to the file, where that is so.
    var refusal: String?
  }

  /// Those of which there is something to say, in the order of their paths.
  var files: [File] = []
  /// How many files were looked at.
  var read = 0

  /// How many files have another text.
  var changed: Int { files.count { $0.isChanged } }

  /// How many things a person has to do.
  var left: Int {
    files.reduce(0) { $0 + $1.notes.count { $0.isLeft } + ($1.refusal == nil ? 0 : 1) }
  }

  private enum Key: String, CodingKey {
    case files, read, changed, left
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(files, forKey: .files)
    try container.encode(read, forKey: .read)
    try container.encode(changed, forKey: .changed)
    try container.encode(left, forKey: .left)
  }

  /// Lines for a person: one a note, and the sums.
  func lines(dryRun: Bool) -> [String] {
    let notes = files.flatMap { file in
      file.notes.map { "\(file.path):\($0.line): \($0.isLeft ? "left: " : "")\($0.text)" }
        + (file.refusal.map { ["\(file.path): left: \($0)"] } ?? [])
    }
    let verb = dryRun ? "would change" : "changed"
    return notes + ["\(verb) \(changed) of \(read) files; left to do by hand: \(left)"]
  }
}
