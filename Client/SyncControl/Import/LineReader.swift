/// The lines of a file that are not blank, read one at a time. A copy reads on from where it was made.
struct LineReader {
  /// A line is held whole; one that is longer is no import line.
  static let lineBytesMax = 256 << 20

  private let bytes: ImportBytes
  /// Those of whose lines alone are read; nil for all.
  private let missing: MissingObjects?
  /// Bytes that were read.
  private(set) var position = 0
  /// The line that was read last, from 1.
  private(set) var number = 0

  /// How files begin that are no lines of UTF-8, what they are, and what to do.
  private static let otherKinds: [(start: [UInt8], kind: String, suggestion: String)] = [
    ([0xFF, 0xFE], "UTF-16", utf8Advice), ([0xFE, 0xFF], "UTF-16", utf8Advice),
    (
      [0x1F, 0x8B], "compressed (gzip)",
      "unpack it: gunzip -c FILE | syncctl import --store STORE -"
    ),
    (
      [0x28, 0xB5, 0x2F, 0xFD], "compressed (zstd)",
      "unpack it: zstd -dc FILE | syncctl import --store STORE -"
    ), ([0x50, 0x4B, 0x03, 0x04], "a ZIP archive", "unpack it, and import the file inside"),
    (
      Array("SQLite format 3\0".utf8), "an SQLite database",
      "import the lines of its export: syncctl export --store FILE"
    ),
  ]
  private static let utf8Advice =
    "save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE | syncctl import --store STORE -"

  init(_ bytes: ImportBytes, only missing: MissingObjects? = nil) throws(ImportError) {
    self.bytes = bytes
    self.missing = missing
    try refuseOtherKinds()
    do throws(ImportBytes.ReadFailure) {
      // Some editors begin a file with a byte order mark.
      if try bytes.begins(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    } catch {
      throw unreadable(error)
    }
  }

  /// A file of another kind has no line that could be corrected.
  private func refuseOtherKinds() throws(ImportError) {
    for other in Self.otherKinds {
      let isThat: Bool
      do throws(ImportBytes.ReadFailure) {
        isThat = try bytes.begins(with: other.start)
      } catch {
        throw unreadable(error)
      }
      if isThat {
        throw ImportError(
          line: 1, "the file is \(other.kind), and no lines of JSON", suggestion: other.suggestion)
      }
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
          line: number,
          "the file ends here, and \(count) \(count == 1 ? "line was" : "lines were") to be "
            + "passed over",
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
      guard let found = try read.get() else { continue }
      guard let missing else { return found }
      if try missing.admits(found) { return found }
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
