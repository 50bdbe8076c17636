import Driftless
import DriftlessSync
import Foundation
import SyncControl
import SyncDaemon
import TestSupport
import Testing

@Suite struct ImporterTests {
  @discardableResult
  private func run(_ shop: Shop, author: String? = nil, _ lines: String...) throws -> ImportReport {
    try Importer(store: shop.store, author: author, source: "f.jsonl")
      .run(Data(lines.joined(separator: "\n").utf8))
  }

  /// The failure of an import that must fail.
  private func failure(_ shop: Shop, _ lines: String...) -> Failure? {
    do {
      _ = try Importer(store: shop.store, author: nil, source: "f.jsonl")
        .run(Data(lines.joined(separator: "\n").utf8))
      return nil
    } catch {
      return error as? Failure
    }
  }

  private func count(_ shop: Shop) throws -> Int {
    try ReplicaExport.text(of: shop.store).split(separator: "\n").count
  }

  @Test("A byte order mark before the first line is passed over; elsewhere it is none")
  func byteOrderMark() throws {
    let shop = try Shop()
    let line = #"{"op":"insert","entity":"Item","id":"1","set":{"name":"a"}}"#
    try run(shop, "\u{FEFF}" + line)
    #expect(try count(shop) == 1)
    #expect(failure(shop, line, "\u{FEFF}" + line)?.message.contains("f.jsonl:2") == true)
  }

  @Test("What goes by a delete rule is counted, and what two lines and a rule delete is one")
  func cascades() throws {
    let shop = try Shop()
    try run(
      shop, #"{"op":"insert","entity":"Box","id":"b","set":{"name":"b"}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"name":"x","box":"b"}}"#,
      #"{"op":"insert","entity":"Item","id":"2","set":{"name":"y","box":"b"}}"#,
      #"{"op":"insert","entity":"Item","id":"3","set":{"name":"z"}}"#)
    let report = try run(
      shop, #"{"op":"delete","entity":"Item","id":"1"}"#,
      #"{"op":"delete","entity":"Box","id":"b"}"#)
    #expect(report.deleted == 3)
    #expect(try count(shop) == 1)
  }

  @Test("A value that the model refuses is told with its object")
  func refusedValue() throws {
    let shop = try Shop()
    let id = "00000000-0000-4000-8000-000000000001"
    let message = failure(
      shop, #"{"op":"insert","entity":"SpecialItem","id":"\#(id)","set":{"name":"a","size":-1}}"#)?
      .message
    #expect(message?.contains("f.jsonl:1: ") == true)
    #expect(message?.contains("size of \(id): ") == true, "\(message ?? "")")
    let missing = failure(
      shop, #"{"op":"insert","entity":"Item","id":"\#(id)","set":{"name":null}}"#)?.message
    #expect(missing?.contains("Item.name of \(id): ") == true, "\(missing ?? "")")
  }

  @Test("A date is exported with as many digits as it takes to be the same again")
  func exactDates() throws {
    var numbers = SeededNumbers(seed: 7)
    var dates: [Double] = [
      0, -0.0, 0.1, -0.1, 0.000_000_1, -0.000_000_1, 1e-9, -1e-9, 1e-20, -1, -1.25,
      737_057_646.843063,
      737_057_646.8430631, 737_057_646.843_063_1, -737_057_646.843_063_1, 0.123_456_789_012_345_67,
      4.4e12, -4.4e12, 1e15, 978_307_200.000_000_1,
    ]
    for _ in 0..<500 {
      dates.append(Double.random(in: -1e9...1e9, using: &numbers))
      dates.append(Double.random(in: -10...10, using: &numbers))
    }
    let shop = try Shop()
    let lines = dates.enumerated().map { place, date in
      var json = JSONText()
      json.value(.date(Date(timeIntervalSinceReferenceDate: date))) { _, json in json.raw("null") }
      return
        #"{"op":"insert","entity":"Item","id":"\#(place)","set":{"name":"a","made":\#(String(decoding: json.bytes, as: UTF8.self))}}"#
    }
    _ = try Importer(store: shop.store, author: nil, source: "f")
      .run(Data(lines.joined(separator: "\n").utf8))
    try shop.read { context in
      for (place, date) in dates.enumerated() {
        let object = try #require(try shop.object("\(place)", "Item", in: context))
        let made = try #require(object["made"] as? Date)
        #expect(made.timeIntervalSinceReferenceDate == date, "\(lines[place])")
      }
    }
    // Where microseconds say it, they do.
    #expect(lines[11].contains("2024-05-10T18:14:06.843063Z"), "\(lines[11])")
  }

  @Test("Every attribute type arrives exactly")
  func values() throws {
    let shop = try Shop()
    try run(
      shop,
      #"{"op":"insert","entity":"Item","id":"1","set":{"name":"Käse \"\u00e9\ud83d\ude00","size":-0,"stock":-9223372036854775808,"weight":0.1,"price":"12345678901234567890.123456789","isNew":true,"made":"2026-11-21T04:47:00.123456Z","photo":"AAEC/w==","code":"6f9619ff-8b86-4011-b42d-00c04fc964ff","page":"https://a.example/b"}}"#
    )
    let text = try ReplicaExport.text(of: shop.store)
    for part in [
      #""name":"Käse \"é😀""#, #""size":0"#, #""stock":-9223372036854775808"#, #""weight":0.1"#,
      #""price":"12345678901234567890.123456789""#, #""isNew":true"#,
      #""made":"2026-11-21T04:47:00.123456Z""#, #""photo":"AAEC/w==""#,
      #""code":"6f9619ff-8b86-4011-b42d-00c04fc964ff""#, #""page":"https://a.example/b""#,
    ] {
      #expect(text.contains(part), "\(text)")
    }
  }

  @Test("An object that a transaction deletes and inserts again is one object that changed")
  func remade() throws {
    let shop = try Shop()
    try run(
      shop,
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"b"}}"#,
      #"{"op":"insert","entity":"Tag","id":"t","set":{"name":"t"}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"name":"one","size":3,"tags":["t"]}}"#,
      #"{"op":"insert","entity":"Item","id":"in box","set":{"box":"b"}}"#)
    let before = try ReplicaExport.text(of: shop.store)
    let report = try run(
      shop,
      #"{"op":"delete","entity":"Item","id":"1"}"#,
      #"{"op":"delete","entity":"Box","id":"b"}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"stock":4,"box":"b"}}"#,
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"new"}}"#)
    #expect(report.deleted == 3, "what was in the box goes by the model's cascade")
    #expect(report.inserted == 2)
    try shop.read { context in
      let item = try #require(try shop.object("1", "Item", in: context))
      #expect(try item.value(forKey: "name") as? String == "?")
      #expect(try item.value(forKey: "size") == nil)
      #expect(try item.value(forKey: "stock") as? Int64 == 4)
      let box = try #require(try item.value(forKey: "box") as? ManagedObject)
      #expect(try box.value(forKey: "name") as? String == "new")
      // The delete of a box takes its items with it.
      #expect(try shop.object("in box", "Item", in: context) == nil)
    }
    #expect(try count(shop) == 3)
    // One update each, under the identities of before.
    let text = try ReplicaExport.text(of: shop.store)
    func identities(_ text: String) -> Set<Substring> {
      Set(text.split(separator: "\n").compactMap { $0.split(separator: "\"").dropFirst(6).first })
    }
    #expect(identities(text).isSubset(of: identities(before)))
  }

  @Test("Between its delete and its insert, an object is not there; as another entity it must wait")
  func notThere() throws {
    let shop = try Shop()
    try run(shop, #"{"op":"insert","entity":"Item","id":"1","set":{"size":3}}"#)
    let missing = failure(
      shop,
      #"{"op":"delete","entity":"Item","id":"1"}"#,
      #"{"op":"update","entity":"Item","id":"1","set":{"size":4}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{}}"#)
    #expect(missing?.message.contains("there is no Item 1") == true)
    let other = failure(
      shop,
      #"{"op":"delete","entity":"Item","id":"1"}"#,
      #"{"op":"insert","entity":"SpecialItem","id":"1","set":{}}"#)
    #expect(other?.message.contains("put a save between") == true)
  }

  @Test("What is exported imports to the same bytes")
  func roundTrip() throws {
    let shop = try Shop()
    try run(
      shop,
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"b"}}"#,
      #"{"op":"insert","entity":"Tag","id":"t","set":{"name":"t"}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"box":"b","tags":["t"],"weight":1e-7,"made":"1969-12-31T23:59:59.999999Z"}}"#,
      #"{"op":"insert","entity":"SpecialItem","id":"2","set":{"box":"b","reason":"r"}}"#)
    let text = try ReplicaExport.text(of: shop.store)
    let other = try Shop()
    try run(other, text)
    #expect(try ReplicaExport.text(of: other.store) == text)
  }

  @Test("References may name objects that later lines insert, in this transaction or a later one")
  func forwardReferences() throws {
    let shop = try Shop()
    try run(
      shop,
      #"{"op":"insert","entity":"Item","id":"1","set":{"box":"later in the transaction","tags":["later in the file"]}}"#,
      #"{"op":"insert","entity":"Box","id":"later in the transaction","set":{"name":"b"}}"#,
      #"{"op":"save"}"#,
      #"{"op":"insert","entity":"Tag","id":"later in the file","set":{"name":"t"}}"#)
    try shop.read { context in
      let item = try #require(try shop.object("1", "Item", in: context))
      let box = item[ToOne<ManagedObject, ManagedObject>("box")]
      #expect(box?[Attribute<ManagedObject, String?>("name")] == "b")
      #expect(item[ToMany<ManagedObject, ManagedObject>("tags")].count == 1)
    }
  }

  @Test("A reference to an object that is nowhere is an error at its own line")
  func danglingReference() throws {
    let shop = try Shop()
    let error = failure(
      shop,
      #"{"op":"insert","entity":"Box","id":"b","set":{}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"box":"nowhere"}}"#,
      #"{"op":"save"}"#,
      #"{"op":"insert","entity":"Item","id":"2","set":{}}"#)
    #expect(error?.status == .badData)
    #expect(error?.message.hasPrefix("f.jsonl:2: Item.box names Box nowhere") == true)
    #expect(try count(shop) == 0)
  }

  @Test("Each save is one history transaction with its author")
  func authors() throws {
    let shop = try Shop()
    try run(
      shop, author: "anna",
      #"{"op":"insert","entity":"Box","id":"1","set":{}}"#,
      #"{"op":"insert","entity":"Box","id":"2","set":{}}"#,
      #"{"op":"save","author":"ben"}"#,
      #"{"op":"insert","entity":"Box","id":"3","set":{}}"#,
      #"{"op":"save"}"#,
      #"{"op":"update","entity":"Box","id":"3","set":{"name":"x"}}"#)
    let transactions = try shop.store.fetchHistory(.fetchHistory(after: nil))
    #expect(transactions.map(\.author) == ["ben", "anna", "anna"])
    #expect(transactions.map { $0.changes?.count } == [2, 1, 1])
  }

  @Test("Update and delete work on what the store has, null and empty arrays clear")
  func changes() throws {
    let shop = try Shop()
    try run(
      shop,
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"b"}}"#,
      #"{"op":"insert","entity":"Tag","id":"t","set":{}}"#,
      #"{"op":"insert","entity":"Item","id":"1","set":{"size":5,"box":"b","tags":["t"]}}"#,
      #"{"op":"insert","entity":"Item","id":"2","set":{"box":"b"}}"#)
    try run(
      shop, #"{"op":"update","entity":"Item","id":"1","set":{"size":null,"box":null,"tags":[]}}"#)
    try shop.read { context in
      let item = try #require(try shop.object("1", "Item", in: context))
      #expect(item[Attribute<ManagedObject, Int?>("size")] == nil)
      #expect(item[ToOne<ManagedObject, ManagedObject>("box")] == nil)
      #expect(item[ToMany<ManagedObject, ManagedObject>("tags")].isEmpty)
    }
    let report = try run(shop, #"{"op":"delete","entity":"Box","id":"b"}"#)
    #expect(report.deleted == 2)
    #expect(try count(shop) == 2, "the box's item goes by the model's cascade")
  }

  @Test("An object may be deleted and inserted again and again in one transaction")
  func againAndAgain() throws {
    let shop = try Shop()
    try run(shop, #"{"op":"insert","entity":"Box","id":"b","set":{"name":"old"}}"#)
    let (delete, insert) = (
      #"{"op":"delete","entity":"Box","id":"b"}"#, #"{"op":"insert","entity":"Box","id":"b"}"#
    )
    try run(shop, delete, insert, delete, insert)
    #expect(try count(shop) == 1)
    #expect(try !ReplicaExport.text(of: shop.store).contains("old"))
    try run(shop, delete, insert, delete)
    #expect(try count(shop) == 0)
  }

  @Test("An object that was deleted can be inserted anew under its id")
  func insertAfterDelete() throws {
    let shop = try Shop()
    try run(
      shop, #"{"op":"insert","entity":"Box","id":"b","set":{"name":"old"}}"#, #"{"op":"save"}"#,
      #"{"op":"delete","entity":"Box","id":"b"}"#, #"{"op":"save"}"#,
      #"{"op":"insert","entity":"Box","id":"b","set":{"name":"new"}}"#)
    #expect(try ReplicaExport.text(of: shop.store).contains(#""name":"new""#))
    #expect(try count(shop) == 1)
  }

  @Test("One key means one object, whatever the subentity and whatever the store")
  func identities() throws {
    let shop = try Shop()
    try run(shop, #"{"op":"insert","entity":"SpecialItem","id":"1","set":{}}"#)
    let error = failure(shop, #"{"op":"insert","entity":"Item","id":"1","set":{}}"#)
    #expect(error?.message == "f.jsonl:1: Item 1 exists already: use update or upsert")
    #expect(failure(shop, #"{"op":"update","entity":"Item","id":"1","set":{"size":1}}"#) == nil)
  }

  @Test(
    "A bad line names file, line and element, and nothing of its transaction is saved",
    arguments: [
      (
        #"{"op":"insert","entity":"Item","id":"2","set":{"nme":"x"}}"#,
        "Item has no property \"nme\""
      ),
      (#"{"op":"insert","entity":"Itm","id":"2","set":{}}"#, "there is no entity \"Itm\""),
      (
        #"{"op":"insert","entity":"Item","id":"2","set":{"size":40000}}"#,
        "Item.size is a whole number from -32768"
      ),
      (#"{"op":"insert","entity":"Item","id":"2","set":{"size":1.0}}"#, "not the number 1.0"),
      (#"{"op":"insert","entity":"Item","id":"2","set":{"size":-1}}"#, "Item.size"),
      (
        #"{"op":"insert","entity":"Item","id":"2","set":{"made":"yesterday"}}"#,
        "Item.made is a date"
      ),
      (
        #"{"op":"insert","entity":"Item","id":"2","set":{"price":"1.2.3"}}"#,
        "Item.price is a decimal"
      ),
      (#"{"op":"insert","entity":"Item","id":"2","set":{"photo":"%"}}"#, "base64"),
      (#"{"op":"insert","entity":"Item","id":"2","set":{"box":5}}"#, "the id of a Box"),
      (#"{"op":"insert","entity":"Item","id":"2","set":{"tags":"t"}}"#, "an array of ids of Tag"),
      (#"{"op":"insert","entity":"Item","id":"2","set":{"size":1,"size":2}}"#, "occurs twice"),
      (#"{"op":"insert","entity":"Item","set":{}}"#, "\"id\" is missing"),
      (#"{"op":"insert","entity":"Item","id":"2","sett":{}}"#, "\"sett\" has no place"),
      (#"{"op":"put","entity":"Item","id":"2"}"#, "insert, update, upsert, delete or save"),
      (#"{"op":"update","entity":"Item","id":"9","set":{}}"#, "there is no Item 9"),
      (#"{"op":"delete","entity":"Item","id":"9"}"#, "there is no Item 9"),
      (#"{"op":"insert","entity":"Item","id":"2","set":{"name":null}}"#, "Item.name"),
      (#"{"op":"insert","entity":"Item","id":"2""#, "column 40: a comma or } belongs here"),
      (#"[1]"#, "one JSON object, not an array"),
    ])
  func badLines(line: String, expected: String) throws {
    let shop = try Shop()
    let error = try #require(
      failure(
        shop, #"{"op":"insert","entity":"Box","id":"kept","set":{"name":"kept"}}"#,
        #"{"op":"save"}"#, "", #"{"op":"insert","entity":"Item","id":"1","set":{}}"#, line))
    #expect(error.status == .badData)
    #expect(error.message.hasPrefix("f.jsonl:5: "), "\(error.message)")
    #expect(error.message.contains(expected), "\(error.message)")
    #expect(try count(shop) == 1, "what was saved before stays, the rest is gone")
  }

  @Test("A unique key that is taken is told with its line and the other's, and nothing is imported")
  func uniqueKeys() throws {
    let model = Shop.model()
    model.entitiesByName["Item"]?.uniquenessConstraints = [["name"]]
    let shop = try Shop(model: model)
    func line(_ id: String, _ name: String, _ operation: String = "insert") -> String {
      #"{"op":"\#(operation)","entity":"Item","id":"\#(id)","set":{"name":"\#(name)"}}"#
    }
    try run(shop, line("1", "a"), line("2", "b"))
    let before = try ReplicaExport.text(of: shop.store)
    let twice = try #require(failure(shop, line("3", "c"), line("4", "d"), line("5", "c")))
    #expect(twice.status == .badData && twice.code == "bad-line")
    #expect(twice.message.contains("f.jsonl:3: the Item would have the unique name c"))
    #expect(twice.message.contains("line 1"))
    let identity = NamedIdentity.identity("1", rootEntity: "Item").uuidString.lowercased()
    for lines in [[line("3", "c"), line("4", "a")], [line("3", "c"), line("2", "a", "update")]] {
      let taken = try #require(failure(shop, lines.joined(separator: "\n")))
      #expect(taken.status == .badData)
      #expect(taken.message.contains("f.jsonl:2:"), "\(taken.message)")
      #expect(taken.message.contains("object \(identity) of the store has it"), "\(taken.message)")
    }
    #expect(try ReplicaExport.text(of: shop.store) == before)
  }

  @Test("A number is no date, whatever it counts from; what an export writes as a number is")
  func numbersAsDates() throws {
    let shop = try Shop()
    for number in ["1700000000", "0", "-1.5", "1700000000000"] {
      let line = #"{"op":"insert","entity":"Item","id":"1","set":{"made":\#(number)}}"#
      let refused = failure(shop, #"{"op":"save"}"#, line)
      #expect(refused?.message.hasPrefix("f.jsonl:2: Item.made is a date as text") == true)
    }
    #expect(try count(shop) == 0)
    try run(shop, #"{"op":"insert","entity":"Item","id":"1","set":{"made":1e300}}"#)
    #expect(try ReplicaExport.text(of: shop.store).contains(#""made":1e+300"#))
  }

  @Test("An author that no zone takes is refused, with its line")
  func longAuthor() async throws {
    let shop = try Shop()
    func lines(_ count: Int) -> [String] {
      let author = String(repeating: "x", count: count)
      return [
        #"{"op":"insert","entity":"Item","id":"\#(count)","set":{"name":"a"}}"#,
        #"{"op":"save","author":"\#(author)"}"#,
      ]
    }
    let refused = failure(shop, lines(1001)[0], lines(1001)[1])
    #expect(refused?.message.hasPrefix("f.jsonl:2: ") == true)
    #expect(refused?.message.contains("at most 1000") == true, "\(refused?.message ?? "")")
    #expect(try count(shop) == 0)
    try run(shop, lines(1000)[0], lines(1000)[1])
    let file = shop.directory.file("lines.jsonl")
    try Data(lines(1)[0].utf8).write(to: file)
    let author = String(repeating: "x", count: 1001)
    #expect(
      await SyncControl.run(["import", "--store", shop.url.path, file.path, "--author", author])
        == ExitStatus.usage.rawValue)
  }
}
