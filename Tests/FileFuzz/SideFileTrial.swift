import Driftless
import Foundation
import TestSupport

/// What lies beside a store, changed by a seed: files of large values, their folder, the lock, the log and its memory.
struct SideFileTrial {
  private static let bytes = 200_000

  /// A store with large values of two objects of an entity that has them.
  static func makeSample(in folder: URL) throws -> PersistentStore {
    let page = EntityDescription("Page")
    let scan = AttributeDescription("scan", .binaryData)
    scan.allowsExternalBinaryDataStorage = true
    page.properties = [AttributeDescription("name", .string), scan]
    let model = ManagedObjectModel(entities: [page])
    let store = try PersistentStore.open(
      url: folder.appendingPathComponent("pages.sqlite"), model: model)
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for index in 0..<3 {
      let page = try context.insert(entityNamed: "Page")
      try page.setValue("page \(index)", forKey: "name")
      try page.setValue(Data(repeating: UInt8(index), count: bytes + index), forKey: "scan")
    }
    try context.save()
    return store
  }

  /// Makes a copy of the sample, and changes what lies beside it.
  ///
  /// - Returns: Whether the file of a value is none any more that can be read, which the check has to say.
  static func mutate(
    _ sample: PersistentStore, to file: URL, _ numbers: inout SeededNumbers
  ) throws -> Bool {
    let folder = file.deletingLastPathComponent()
    let stem = file.deletingPathExtension().lastPathComponent
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix(stem + ".") || name.hasPrefix(".\(stem)_SUPPORT") {
      try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
    }
    try sample.backup(to: file)
    let values = folder.appendingPathComponent(".\(stem)_SUPPORT/_EXTERNAL_DATA")
    let names = try FileManager.default.contentsOfDirectory(atPath: values.path).sorted()
    for _ in 0...numbers.number(below: 2) {
      switch numbers.number(below: 4) {
      case 0, 1, 2:
        let victim = values.appendingPathComponent(names[numbers.number(below: names.count)])
        change(victim, values, &numbers)
      default:
        let suffixes = ["-wal", "-shm", "-driftless-lock", "-driftless-file", "-journal"]
        let suffix = suffixes[numbers.number(below: suffixes.count)]
        change(URL(fileURLWithPath: file.path + suffix), folder, &numbers)
      }
    }
    return names.contains { name in
      var status = stat()
      return stat(values.appendingPathComponent(name).path, &status) != 0
        || status.st_mode & S_IFMT != S_IFREG || status.st_size > 2 << 30
    }
  }

  private static func change(_ file: URL, _ folder: URL, _ numbers: inout SeededNumbers) {
    func bytes(_ count: Int, _ numbers: inout SeededNumbers) -> Data {
      Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &numbers) })
    }
    let kind = numbers.number(below: 12)
    FileTrial.show("change \(kind) of \(file.lastPathComponent)")
    let isThere = FileManager.default.fileExists(atPath: file.path)
    switch kind {
    case 0:  // As it was, but for its length.
      truncate(file.path, off_t(numbers.number(below: 3) * 100_000))
      return
    case 1:
      var status = stat()
      if lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        let handle = FileHandle(forWritingAtPath: file.path)
      {
        try? handle.seek(toOffset: UInt64(numbers.number(below: 200)))
        try? handle.write(contentsOf: bytes(16, &numbers))
        try? handle.close()
      }
      return
    default: break
    }
    try? FileManager.default.removeItem(at: file)
    switch kind {
    case 2: break
    case 3: mkfifo(file.path, 0o600)
    case 4: symlink("/dev/zero", file.path)
    case 5: symlink(file.lastPathComponent, file.path)
    case 6: symlink("/nowhere/at/all", file.path)
    case 7: mkdir(file.path, 0o700)
    case 8:
      // A gap that no disk has room for.
      _ = FileManager.default.createFile(atPath: file.path, contents: nil)
      truncate(file.path, off_t(1) << off_t(32 + numbers.number(below: 10)))
    case 9:
      _ = FileManager.default.createFile(atPath: file.path, contents: bytes(64, &numbers))
      return
    case 10:
      _ = FileManager.default.createFile(atPath: file.path, contents: Data())
      return
    default:
      // The folder itself is another thing.
      guard isThere, folder.lastPathComponent == "_EXTERNAL_DATA" else { return }
      try? FileManager.default.removeItem(at: folder)
      if numbers.chance(50) {
        mkfifo(folder.path, 0o600)
      } else {
        symlink(folder.deletingLastPathComponent().path, folder.path)
      }
    }
  }
}
