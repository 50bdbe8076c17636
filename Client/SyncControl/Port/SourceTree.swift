import Foundation
import SwiftSource
import SyncDaemon

/// The Swift files of a folder.
struct SourceTree {
  private let root: URL

  /// - Throws: ``Failure`` when there is no such folder.
  init(_ path: String) throws {
    // The folder itself may be named by a link: what is meant is where that leads.
    root = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: root.path, isDirectory: &isFolder) else {
      throw Failure(
        .badData, code: "no-folder", "There is no folder \(path).", suggestion: "check the path")
    }
    guard isFolder.boolValue else {
      throw Failure(
        .badData, code: "no-folder", "\(path) is a file, and the folder that it lies in is needed.",
        suggestion:
          "syncctl code port \(URL(fileURLWithPath: path).deletingLastPathComponent().path)")
    }
  }

  /// Ports every file.
  ///
  /// - Parameters:
  ///   - dryRun: Whether files stay as they are.
  ///   - keepsManaged: Whether `@NSManaged` stays, for a build whose plugin makes the accessors.
  func port(dryRun: Bool, keepsManaged: Bool = false) throws -> PortReport {
    var report = PortReport()
    for path in try paths() {
      report.read += 1
      let file = port(path, dryRun: dryRun, keepsManaged: keepsManaged)
      if file.isChanged || file.refusal != nil || !file.notes.isEmpty { report.files.append(file) }
    }
    return report
  }

  /// The files' paths below the root. Links are passed over: what they lead to inside of the folder is found as itself.
  private func paths() throws -> [String] {
    var paths: [String] = []
    var folders = [""]
    while let folder = folders.popLast() {
      let url = folder.isEmpty ? root : root.appendingPathComponent(folder)
      let names: [String]
      do {
        names = try FileManager.default.contentsOfDirectory(atPath: url.path)
      } catch {
        throw Failure(
          .badData, code: "unreadable", "\(url.path) cannot be read.",
          suggestion: "check its permissions")
      }
      for name in names where !name.hasPrefix(".") {
        let path = folder.isEmpty ? name : "\(folder)/\(name)"
        let kind =
          try? FileManager.default.attributesOfItem(
            atPath: root.appendingPathComponent(path).path)[.type] as? FileAttributeType
        if kind == .typeDirectory { folders.append(path) }
        if kind == .typeRegular, name.hasSuffix(".swift") { paths.append(path) }
      }
    }
    return paths.sorted()
  }

  private func port(_ path: String, dryRun: Bool, keepsManaged: Bool) -> PortReport.File {
    var file = PortReport.File(path: path, isChanged: false, notes: [])
    let url = root.appendingPathComponent(path)
    guard let data = try? Data(contentsOf: url) else {
      file.refusal = "cannot be read: check its permissions"
      return file
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      file.refusal = "is not in UTF-8: save it so, and run this again"
      return file
    }
    let result = SourcePort.port(text, keepsManaged: keepsManaged)
    file.notes = result.notes
    let bytes = Data(result.text.utf8)
    guard bytes != data else { return file }
    if !dryRun {
      do {
        try Self.replace(url, with: bytes)
      } catch {
        file.notes = []
        file.refusal = "cannot be written: check the folder's permissions and room"
        return file
      }
    }
    file.isChanged = true
    return file
  }

  /// Puts a whole new file in the place of one, with its mode: whoever reads sees the old one or the new one.
  private static func replace(_ url: URL, with data: Data) throws {
    var status = stat()
    let other = url.deletingLastPathComponent()
      .appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString)").path
    // Private until it has the mode of the file whose text it holds.
    let descriptor = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try handle.write(contentsOf: data)
      guard stat(url.path, &status) == 0, fchmod(descriptor, status.st_mode & 0o7777) == 0 else {
        throw CocoaError(.fileWriteUnknown)
      }
      try handle.synchronize()
      guard rename(other, url.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    } catch {
      unlink(other)
      throw error
    }
  }
}
