import CZlib
import DriftlessProtocol
import Foundation

/// Frames by hand, with sections that the encoder would never write.
enum Frames {
  /// Both sections as they are.
  static func plain(index: [UInt8], values: [UInt8]) throws -> Data {
    var frame = try ChangeSetEncoder(compressionLevel: 0).encode(empty)
      .prefix(ChangeSetHeader.size)
    set(UInt32(index.count), at: 104, in: &frame)
    set(UInt32(index.count), at: 108, in: &frame)
    set(UInt32(values.count), at: 112, in: &frame)
    set(UInt32(values.count), at: 116, in: &frame)
    frame.append(contentsOf: index)
    frame.append(contentsOf: values)
    ChangeSetEncoder.seal(&frame)
    return frame
  }

  /// The index section compressed, no values.
  static func compressed(index: [UInt8]) throws -> Data {
    var length = compressBound(uLong(index.count))
    var stream = [UInt8](repeating: 0, count: Int(length))
    compress2(&stream, &length, index, uLong(index.count), 9)
    var frame = try plain(index: Array(stream.prefix(Int(length))), values: [])
    set(UInt32(index.count), at: 108, in: &frame)
    frame[8] = 2
    ChangeSetEncoder.seal(&frame)
    return frame
  }

  static func set(_ number: UInt32, at place: Int, in frame: inout Data) {
    withUnsafeBytes(of: number.littleEndian) { bytes in
      frame.replaceSubrange(place..<place + 4, with: bytes)
    }
  }

  private static let empty = ChangeSet(
    header: Samples.header(), index: ChangeSetIndex(), columns: [])
}

/// What the process holds.
enum Memory {
  /// Lets `peak` begin anew.
  static func resetPeak() throws {
    try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
  }

  /// The most memory that the process held since the last reset. Bytes.
  static func peak() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (Int(line.filter(\.isNumber)) ?? 0) * 1024
  }
}
