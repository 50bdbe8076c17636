package import Foundation

/// Where the files of a zone's snapshot lie: a fold reads the former ones, and writes those of its own.
package protocol SnapshotFiles {
  /// The snapshot that is there; nil when there is none.
  func snapshot() throws -> Snapshot?

  /// The bytes of a file of a snapshot.
  func bytes(of file: Snapshot.File) throws -> Data

  /// Keeps a file, whole, before anything names it.
  func keep(_ data: Data, as name: String) throws

  /// Makes a snapshot the one that is there. Files that neither it nor the one before it names may go.
  func publish(_ snapshot: Snapshot) throws
}

/// The files of a snapshot in a folder of the zone's own.
struct SnapshotFolder: SnapshotFiles {
  private let folder: URL

  init(_ folder: URL) { self.folder = folder }

  func snapshot() throws -> Snapshot? { try Snapshot.read(in: folder) }

  func bytes(of file: Snapshot.File) throws -> Data { try Snapshot.bytes(of: file, in: folder) }

  func keep(_ data: Data, as name: String) throws {
    try FoldFile.replace(Snapshot.url(of: name, in: folder), with: data)
  }

  func publish(_ snapshot: Snapshot) throws {
    try snapshot.write(in: folder)
    let named = Set(snapshot.files.map(\.name) + snapshot.former)
    for name in try FoldFile.names(in: folder) where name.hasSuffix(".segment") {
      if !named.contains(String(name.dropLast(".segment".count))) {
        try FoldFile.remove(folder.appendingPathComponent(name))
      }
    }
  }
}
