import DriftlessProtocol
import Foundation
import Testing

/// Frames as the first version wrote them: every later version must read them, and write the plain
/// ones byte for byte. (Compressed bytes depend on the zlib in use, so those are only read.)
///
/// A golden file is hexadecimal, with comments after `#`. A new format version gets new files;
/// these stay.
@Suite struct GoldenTests {
  private func golden(_ name: String) throws -> Data {
    let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Golden/\(name).hex")
    var data = Data()
    for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
      let digits = line.prefix { $0 != "#" }.filter { !$0.isWhitespace }
      var rest = digits[...]
      while !rest.isEmpty {
        data.append(try #require(UInt8(rest.prefix(2), radix: 16)))
        rest = rest.dropFirst(2)
      }
    }
    return data
  }

  @Test("The plain frame is written and read as in the golden file")
  func plain() throws {
    let frame = try golden("library-plain")
    #expect(try ChangeSetEncoder(compressionLevel: 0).encode(Samples.library) == frame)
    let changeSet = try ChangeSetDecoder().decode(frame)
    #expect(changeSet.index == Samples.library.index)
    #expect(changeSet.columns == Samples.library.columns)
  }

  @Test("The compressed frame of the golden file is read")
  func compressed() throws {
    let changeSet = try ChangeSetDecoder().decode(golden("library-zlib"))
    #expect(changeSet.header.indexSize.isCompressed)
    #expect(changeSet.header.valuesSize.isCompressed)
    #expect(changeSet.index == Samples.library.index)
    #expect(changeSet.columns == Samples.library.columns)
  }

  @Test("The page of the log is written and read as in the golden file")
  func page() throws {
    let frame = try golden("library-plain")
    let page = PullPage(
      generation: Samples.generation, head: 9, serverTimeMilliseconds: 5,
      entries: [
        .init(
          sequence: 8, firstObjectNumber: 104, chain: Samples.chain, isOwnHeaderOnly: true,
          frame: frame.prefix(ChangeSetHeader.size)),
        .init(
          sequence: 9, firstObjectNumber: 108, chain: .start(generation: Samples.imported),
          isOwnHeaderOnly: false, frame: frame),
      ])
    let body = try golden("page")
    #expect(page.body == body)
    #expect(
      try PullPage(
        body: body, generation: Samples.generation, head: 9, serverTimeMilliseconds: 5) == page)
  }

  @Test("F71 A column of a kind from a newer version is kept and handed on byte for byte")
  func unknownKind() throws {
    let frame = try golden("unknown-column")
    let changeSet = try ChangeSetDecoder().decode(frame)
    guard case .unknown(let column) = changeSet.columns[0].values else {
      Issue.record("read as a known kind")
      return
    }
    #expect(column.kind == 99)
    #expect(column.count == 2)
    #expect(changeSet.columns[0].isNull(at: 1))
    #expect(try ChangeSetEncoder(compressionLevel: 0).encode(changeSet) == frame)
  }

  @Test("F72 A frame of a newer format version says to update", arguments: [4, 8, 9, 11])
  func newerVersion(place: Int) throws {
    var frame = try golden("library-plain")
    frame[place] += 16
    ChangeSetEncoder.seal(&frame)
    let error = #expect(throws: ProtocolError.self) { try ChangeSetDecoder().decode(frame) }
    #expect(error?.code == .unsupported)
    #expect(error?.suggestion.contains("Update") == true)
  }

  @Test("What a newer version says in optional flags, kept bytes and a longer header is skipped")
  func newerHeader() throws {
    var frame = try golden("library-plain")
    frame[13] = 0x80
    frame[140] = 1
    frame.insert(contentsOf: [1, 2, 3, 4], at: ChangeSetHeader.size)
    frame[6] += 4
    ChangeSetEncoder.seal(&frame)
    let changeSet = try ChangeSetDecoder().decode(frame)
    #expect(changeSet.index == Samples.library.index)
    #expect(changeSet.columns == Samples.library.columns)
    #expect(ChangeSetHeader.isWhole(frame))
  }
}
