package import Foundation

/// A value of a file of settings, which is JSON, and the line on which it stands.
package struct SettingsNode: Sendable {
  package enum Value: Sendable {
    case object([Member])
    case array([SettingsNode])
    case text(String)
    /// As it is written.
    case number(String)
    case flag(Bool)
    case null
  }

  package struct Member: Sendable {
    package let name: String
    /// Where the name stands.
    package let line: Int
    package let node: SettingsNode
  }

  package let value: Value
  package let line: Int

  /// No file of settings that a person writes is as large.
  package static let bytesMax = 16 << 20

  /// Reads a file.
  ///
  /// - Throws: `SettingsComplaint` for one that cannot be read, that is no regular file, that is too large or no JSON.
  package static func read(_ file: String) throws(SettingsComplaint) -> SettingsNode {
    // Nobody waits for the other end of a pipe.
    let descriptor = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw SettingsComplaint(line: nil, "cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw SettingsComplaint(line: nil, "cannot be read: it is no regular file")
    }
    guard status.st_size <= bytesMax else {
      throw SettingsComplaint(line: nil, "is larger than \(bytesMax >> 20) MiB")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
    guard let data = try? handle.read(upToCount: bytesMax) ?? Data() else {
      throw SettingsComplaint(line: nil, "cannot be read")
    }
    return try SettingsNode(data)
  }

  /// - Throws: `SettingsComplaint` with the line where it is no JSON.
  package init(_ data: Data) throws(SettingsComplaint) {
    var parser = SettingsParser(data)
    self = try parser.file()
  }

  init(_ value: Value, line: Int) {
    self.value = value
    self.line = line
  }
}
