public import Foundation

/// What a zone's log comes to at one place: which files hold it.
///
/// A snapshot is a *base*, which has every object that ever was, and at most one *delta*, which has what changed after the
/// base. Both are files sorted by object number, named by the SHA-256 of their bytes.
public struct Snapshot: Hashable, Sendable, Codable {
  /// Some entries of the log, added up.
  public struct Layer: Hashable, Sendable, Codable {
    /// The last entry that is in it.
    public var place: LogMark
    /// The number of the first object that came after it.
    public var nextObject: UInt64
    /// In the order of their contents.
    public var files: [File]
    /// No object that came with it was deleted, or brought back, under another entity's name than it came under: after a
    /// renaming, or by a program that follows no rule. What that means, a model tells.
    public var isPlain: Bool

    /// All files together. Bytes.
    public var bytes: Int { files.reduce(0) { $0.addingClamped($1.bytes) } }
  }

  /// A file of a layer.
  public struct File: Hashable, Sendable, Codable {
    /// What a file holds.
    public enum Content: String, Hashable, Sendable, Codable {
      /// Objects of a range of numbers.
      case objects
      /// What is known of replicas, names of transactions, and identities without a number.
      case notes
    }

    /// The SHA-256 of its bytes, in hexadecimal.
    public var name: String
    /// What it holds.
    public var content: Content
    /// The number of the first object that it may have; 0 of notes.
    public var first: UInt64
    /// The number behind the last object that it may have; 0 of notes.
    public var end: UInt64
    /// Its length. Bytes.
    public var bytes: Int
  }

  /// The zone's own identity.
  public var zoneID: UUID
  /// The life of the log.
  public var generation: UUID
  /// The newest time of a transaction in it: milliseconds since 1970 in the upper 48 bits.
  public var newestTime: UInt64
  /// All entries up to a place.
  public var base: Layer
  /// The entries after the base; nil when there are none.
  public var delta: Layer?
  /// Files of the snapshot before, which somebody may still be fetching.
  public var former: [String]

  /// The last entry that is in it.
  public var place: LogMark { delta?.place ?? base.place }
  /// The number of the first object that came after it.
  public var nextObject: UInt64 { delta?.nextObject ?? base.nextObject }
  /// All files that make it up, in the order in which they are applied.
  public var files: [File] { base.files + (delta?.files ?? []) }
  /// All files together. Bytes.
  public var bytes: Int { base.bytes.addingClamped(delta?.bytes ?? 0) }
}

extension Snapshot {
  /// The file in a zone's folder that says which files are its snapshot.
  package static let fileName = "snapshot.json"

  /// Reads the snapshot of a folder; nil when there is none.
  ///
  /// - Throws: `ProtocolError`.
  package static func read(in folder: URL) throws(ProtocolError) -> Snapshot? {
    try FoldFile.note(Snapshot.self, in: folder.appendingPathComponent(fileName))
  }

  /// Puts the snapshot into a folder, where a fold goes on from it.
  ///
  /// - Parameter bytes: gives the bytes of each of its files.
  /// - Throws: `ProtocolError`, and what `bytes` throws.
  package func place(in folder: URL, bytes: (File) throws -> Data) throws {
    for file in files {
      try FoldFile.replace(Self.url(of: file.name, in: folder), with: bytes(file))
    }
    try write(in: folder)
  }

  func write(in folder: URL) throws(ProtocolError) {
    try FoldFile.replace(folder.appendingPathComponent(Self.fileName), withNote: self)
  }

  /// As the file has it, for where there is no file.
  ///
  /// - Throws: `ProtocolError`.
  package var note: Data {
    get throws(ProtocolError) { try FoldFile.note(of: self, named: "The snapshot") }
  }

  /// Reads what ``note`` made; nil for anything else.
  package init?(note: Data) {
    guard let snapshot = FoldFile.note(Snapshot.self, in: note) else { return nil }
    self = snapshot
  }

  /// The bytes of a file of the snapshot in a folder.
  ///
  /// - Throws: `ProtocolError`: `.damaged` when the file is gone.
  package static func bytes(of file: File, in folder: URL) throws(ProtocolError) -> Data {
    let url = url(of: file.name, in: folder)
    guard let data = try FoldFile.contents(of: url) else {
      throw ProtocolError(
        .damaged, "The file \(url.path) of the snapshot is gone",
        suggestion: "Delete the snapshot's folder and fold the zone anew.")
    }
    return data
  }

  /// What a file of these bytes is named.
  package static func name(of data: Data) -> String { SegmentBytes.name(of: data) }

  /// The file of a segment in a folder.
  package static func url(of name: String, in folder: URL) -> URL {
    folder.appendingPathComponent("\(name).segment")
  }
}
