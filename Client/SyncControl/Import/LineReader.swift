/// The lines of a file that are not blank, read one at a time. A copy reads on from where it was made.
struct LineReader {
  /// A line is held whole; one that is longer is no import line.
  static let lineBytesMax = 256 << 20

  private let bytes: ImportBytes
  /// Bytes that were read.
  private(set) var position = 0
  /// The line that was read last, from 1.
  private(set) var number = 0

  init(_ bytes: ImportBytes) throws(ImportError) {
    self.bytes = bytes
    do throws(ImportBytes.ReadFailure) {
      // Some editors begin a file with a byte order mark.
      if try bytes.begins(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    } catch {
      throw unreadable(error)
    }
  }

  /// What was read so far is not read again.
  func forgetRead() { bytes.forget(before: position) }

  /// Passes over lines, whatever they say.
  mutating func skip(_ count: Int) throws(ImportError) {
    for _ in 0..<count {
      var length: Int?
      do throws(ImportBytes.ReadFailure) {
        length = try bytes.withLine(at: position, bytesMax: .max) { $0.count }
      } catch {
        throw unreadable(error)
      }
      guard let length else {
        throw ImportError(
          line: number, "the file ends here, and \(count) lines were to be passed over",
          suggestion: "nothing was imported; give --skip a number of lines that the file has")
      }
      position += length + 1
      number += 1
    }
  }

  mutating func next() throws(ImportError) -> ImportLine? {
    while true {
      let line = number + 1
      var length = 0
      let read: Result<ImportLine?, ImportError>?
      do throws(ImportBytes.ReadFailure) {
        read = try bytes.withLine(at: position, bytesMax: Self.lineBytesMax) { bytes in
          length = bytes.count
          return Self.read(bytes, line)
        }
      } catch {
        throw unreadable(error)
      }
      guard let read else { return nil }
      position += length + 1
      number = line
      if let line = try read.get() { return line }
    }
  }

  /// Nil for a blank line.
  private static func read(
    _ bytes: UnsafeBufferPointer<UInt8>, _ number: Int
  ) -> Result<ImportLine?, ImportError> {
    if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return .success(nil) }
    do throws(ImportError) {
      guard bytes.count <= lineBytesMax else {
        throw ImportError(line: number, "longer than \(lineBytesMax) bytes")
      }
      return .success(try ImportLine(bytes, number: number))
    } catch {
      return .failure(error)
    }
  }

  private func unreadable(_ failure: ImportBytes.ReadFailure) -> ImportError {
    var error = ImportError(line: number + 1, "the file cannot be read on: \(failure.reason)")
    error.isInterrupted = failure.isInterrupted
    error.isOfFile = true
    return error
  }
}
