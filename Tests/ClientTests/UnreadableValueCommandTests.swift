import Driftless
import DriftlessSQLite
import DriftlessSync
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// Columns that hold what no value of their property can be, as other programs write them: told, and not passed off as a value.
@Suite struct UnreadableValueCommandTests {
  /// A text in a date's column, a number that no decimal can be, bytes that are no text, and a UUID of two bytes.
  private static let spoils = [
    ("ZMADE = 'yesterday'", "Item.made"), ("ZPRICE = 1e300", "Item.price"),
    ("ZNAME = CAST(x'ff' AS TEXT)", "Item.name"), ("ZCODE = x'0102'", "Item.code"),
  ]

  @Test(
    "store check, doctor and export name object and property, and leave the value out",
    arguments: 0..<4)
  func told(number: Int) async throws {
    let shop = try Shop()
    _ = try Importer(store: shop.store, author: nil, source: "f").run(
      Data(
        #"""
        {"op":"insert","entity":"Item","id":"00000000-0000-4000-8000-000000000001","set":{"name":"a","price":"1.5","made":"2026-11-21T04:47:00Z","code":"6f9619ff-8b86-4011-b42d-00c04fc964ff"}}
        """#.utf8))
    shop.store.close()
    let (sql, name) = Self.spoils[number]
    try StrippedFile.execute("UPDATE ZITEM SET \(sql)", at: shop.url)
    for command in [
      ["store", "check", shop.url.path], ["store", "export", shop.url.path],
      ["export", "--store", shop.url.path],
    ] {
      #expect(await SyncControl.run(command) == ExitStatus.badData.rawValue, "\(command)")
    }
    #expect(await SyncControl.run(["doctor", "--store", shop.url.path]) == 1)
    let store = try StoreAccess.inspect(shop.url)
    defer { store.close() }
    var (text, told) = ("", [String]())
    try ReplicaExport.write(
      store, unreadable: { told.append(try $0.sentence($1)) },
      to: { text += String(decoding: $0, as: UTF8.self) })
    #expect(told.count == 1 && told[0].hasPrefix("\(name) of 00000000-0000-4000-8000-000000000001"))
    let property = name.split(separator: ".")[1]
    #expect(!text.contains("\"\(property)\":"), "\(text)")
  }
}
