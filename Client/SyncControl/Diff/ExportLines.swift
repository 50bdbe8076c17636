import Foundation
import Glibc
import ProgramStart
import SyncDaemon

/// The lines of an export, one object each, in its order. They lie in a file of this user's that has no name any more.
struct ExportLines {
  /// One object of an export.
  struct Line {
    let entity: String
    let id: String
    let bytes: Data

    /// The order of an export.
    var place: (String, String) { (entity, id) }

    /// Its values by name.
    func values() throws -> [String: JSONValue] {
      let parsed = try Array(bytes).withUnsafeBufferPointer { try JSONParser.parse($0) }
      guard case .object(let members)? = parsed["set"] else { return [:] }
      var values = Dictionary(
        members.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
      // What is in the zone alone is told beside the others.
      if case .object(let named)? = parsed["inZone"] {
        for member in named {
          values[member.name] = .object([.init(name: "inZone", value: member.value)])
        }
      }
      return values
    }
  }

  private let bytes: Data
  private var position = 0

  /// - Parameter export: writes the export, piece by piece, to what it is given.
  init(_ export: ((Data) throws -> Void) throws -> Void) throws {
    var path = Array(
      FileManager.default.temporaryDirectory.appendingPathComponent("syncctl.XXXXXX").path
        .utf8CString)
    let descriptor = mkstemp(&path)
    let name = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard descriptor >= 0 else {
      throw Failure(
        .failed, code: "unreadable",
        "No file can be made for a while at \(name): \(String(cString: strerror(errno))).",
        suggestion: "name a folder that can be written in TMPDIR")
    }
    defer {
      unlink(name)
      close(descriptor)
    }
    try export { try ProgramOutput.write($0, to: descriptor) }
    bytes = try Data(contentsOf: URL(fileURLWithPath: name), options: .alwaysMapped)
  }

  mutating func next() throws -> Line? {
    guard position < bytes.count else { return nil }
    let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    defer { position = end + 1 }
    let line = bytes[position..<end]
    let parsed = try Array(line).withUnsafeBufferPointer { try JSONParser.parse($0) }
    guard case .string(let entity)? = parsed["entity"], case .string(let id)? = parsed["id"] else {
      throw Failure(
        .failed, code: "failed", "A line of an export names no object.", suggestion: "try again")
    }
    return Line(entity: entity, id: id, bytes: line)
  }
}
