import Foundation
import Logging

/// What a migration takes away that follows from the two models, and that nobody asked for by name: a program opened the store.
///
/// Nothing in two models says which of them is the newer one. A program that lacks what the store holds may be newer, and have
/// done away with it, or older, and not know it yet. Where it has the versions of its model at hand, it knows. Where it has not, it
/// goes on, and what the store was stays beside it.
struct UnaskedDrops {
  let url: URL
  let destination: ManagedObjectModel

  /// - Throws: `StoreError` (`newerModel`) where the program has versions of its model, the store's is none of them, and something
  ///   goes that the store holds.
  func check() throws {
    guard let versions = knownVersions else { return }
    let store = try open()
    defer { store.close() }
    guard store.modelOrigin != .tables else { return }
    let written = store.metadata.values[StoreMetadata.versionChecksumKey] as? String
    let isKnown =
      versions.contains(store.model.versionChecksum)
      || written.map(versions.contains) == true
    guard !isKnown else { return }
    let gone = try gone(store)
    guard gone.isEmpty else { throw unknown(gone) }
  }

  /// - Returns: The copy of the store that was made; nil where nothing goes that it holds, and where the program knows that it has
  ///   the newer model.
  /// - Throws: What keeps the copy from being written.
  func keep() throws -> URL? {
    guard knownVersions == nil else { return nil }
    let store = try open()
    defer { store.close() }
    guard store.modelOrigin != .tables else { return nil }
    let gone = try gone(store)
    guard !gone.isEmpty else { return nil }
    let copy = freePlace(store.model.versionChecksum)
    try store.backup(to: copy)
    Logger(label: "driftless.store").notice(
      """
      \(url.path) is brought to a model that has no \(gone.joined(separator: ", ")): what it was with them is kept in \
      \(copy.path)
      """)
    return copy
  }

  private func open() throws -> PersistentStore {
    try PersistentStore.open(url: url, options: StoreOptions(isReadOnly: true, createsFile: false))
  }

  /// What goes of what the store holds.
  private func gone(_ store: PersistentStore) throws -> [String] {
    try MigrationDrops(from: store, to: destination, path: url.path).held(by: store)
  }

  /// The checksums of the versions that the program has, where its model is one of several in a bundle.
  private var knownVersions: Set<String>? {
    guard let file = destination.file else { return nil }
    // A source bundle has a folder for each version.
    var url = URL(fileURLWithPath: file)
    for _ in 0..<3 {
      if let versions = try? ManagedObjectModel.versions(at: url), versions.count > 1 {
        return try? Set(ManagedObjectModel.checksumsForVersionedModel(at: url).values)
      }
      url.deleteLastPathComponent()
    }
    return nil
  }

  private func unknown(_ gone: [String]) -> StoreError {
    StoreError(
      .newerModel,
      """
      \(url.path) holds \(gone.joined(separator: ", ")), and this program has no version of its model with them: a newer one \
      made the store.
      """,
      suggestion: """
        The file was not changed: use a newer version of the program. Where they are to go, add the version of the model that \
        the store has to the program's, or: syncctl migrate \(url.path.shellWord) --model FILE --drop NAME
        """)
  }

  /// A name beside the store that no file has. It tells which model the copy is of.
  private func freePlace(_ checksum: String) -> URL {
    let digits = checksum.filter { $0.isLetter || $0.isNumber }.prefix(8)
    let stem = "\(KeptCopies.start(of: url))\(digits)"
    let folder = url.deletingLastPathComponent()
    func place(_ number: Int) -> URL {
      let name = folder.appendingPathComponent(number == 1 ? stem : "\(stem)-\(number)")
      return url.pathExtension.isEmpty ? name : name.appendingPathExtension(url.pathExtension)
    }
    var number = 1
    while FileManager.default.fileExists(atPath: place(number).path) { number += 1 }
    return place(number)
  }
}
