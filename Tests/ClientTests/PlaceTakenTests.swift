import ArgumentParser
import Driftless
import DriftlessSQLite
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// `init` where something lies already.
struct PlaceTakenTests {
  private let shop: Shop
  private let model: URL

  init() throws {
    shop = try Shop()
    model = shop.directory.file("m.xml")
    try Data(
      """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Item"><attribute name="name" attributeType="String"/></entity>
      </model>
      """.utf8
    ).write(to: model)
  }

  private func failure(_ path: String) -> Failure? {
    do {
      try InitCommand.parse(["--store", path, "--model", model.path]).perform()
      return nil
    } catch {
      return Failure(error)
    }
  }

  private func expect(
    _ what: String, advice: String, at path: String, _ location: SourceLocation = #_sourceLocation
  ) {
    let failure = failure(path)
    #expect(failure?.code == "exists", "\(failure as Any)", sourceLocation: location)
    #expect(
      failure?.message.contains("exists already: it is \(what)") == true, "\(failure as Any)",
      sourceLocation: location)
    #expect(
      failure?.suggestion.contains(advice) == true, "\(failure as Any)", sourceLocation: location)
  }

  @Test("It says what lies there, and what to do about that")
  func kinds() throws {
    let directory = shop.directory
    let folder = directory.file("folder")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    expect("a folder", advice: "folder/NAME.sqlite", at: folder.path)
    let text = directory.file("text")
    try Data("no database at all, as anybody can see".utf8).write(to: text)
    expect("a file of 38 bytes, and no database", advice: "another path", at: text.path)
    #expect(try Data(contentsOf: text).count == 38)
    let pipe = directory.file("pipe").path
    #expect(mkfifo(pipe, 0o600) == 0)
    expect("a pipe", advice: "another path", at: pipe)
    expect("a device", advice: "another path", at: "/dev/null")
    let other = directory.file("other.sqlite")
    let connection = try SQLiteConnection(path: other.path, mode: .readWriteCreate)
    try connection.execute("CREATE TABLE x(y)")
    connection.close()
    expect("an SQLite database that is no store", advice: "another path", at: other.path)
    expect("a store, not enrolled", advice: "syncctl status --store", at: shop.url.path)
  }
}
