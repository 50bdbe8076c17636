import Foundation
import TestSupport
import Testing

/// The Chinook music shop: eleven tables with to-one and many-to-many relationships, through the real programs.
@Suite(.serialized) struct ChinookTests {
  static let model = ModelText(entities: [
    .init(
      name: "Genre", attributes: [("name", "String", nil)],
      relationships: [("tracks", "Track", "genre", true)]),
    .init(
      name: "MediaType", attributes: [("name", "String", nil)],
      relationships: [("tracks", "Track", "mediaType", true)]),
    .init(
      name: "Artist", attributes: [("name", "String", nil)],
      relationships: [("albums", "Album", "artist", true)]),
    .init(
      name: "Album", attributes: [("title", "String", nil)],
      relationships: [("artist", "Artist", "albums", false), ("tracks", "Track", "album", true)]),
    .init(
      name: "Track",
      attributes: [
        ("name", "String", nil), ("composer", "String", nil), ("milliseconds", "Integer 32", "max"),
        ("bytes", "Integer 64", nil), ("unitPrice", "Decimal", nil),
        ("plays", "Integer 64", "counter"),
      ],
      relationships: [
        ("album", "Album", "tracks", false), ("genre", "Genre", "tracks", false),
        ("mediaType", "MediaType", "tracks", false), ("playlists", "Playlist", "tracks", true),
        ("invoiceLines", "InvoiceLine", "track", true),
      ]),
    .init(
      name: "Employee",
      attributes: [
        ("lastName", "String", nil), ("firstName", "String", nil), ("title", "String", nil),
        ("birthDate", "Date", nil), ("email", "String", nil),
      ],
      relationships: [
        ("reportsTo", "Employee", "reports", false), ("reports", "Employee", "reportsTo", true),
        ("customers", "Customer", "supportRep", true),
      ]),
    .init(
      name: "Customer",
      attributes: [
        ("firstName", "String", nil), ("lastName", "String", nil), ("email", "String", nil),
        ("country", "String", nil),
      ],
      relationships: [
        ("supportRep", "Employee", "customers", false), ("invoices", "Invoice", "customer", true),
      ]),
    .init(
      name: "Invoice",
      attributes: [("date", "Date", nil), ("total", "Decimal", nil), ("city", "String", nil)],
      relationships: [
        ("customer", "Customer", "invoices", false), ("lines", "InvoiceLine", "invoice", true),
      ]),
    .init(
      name: "InvoiceLine",
      attributes: [("unitPrice", "Decimal", nil), ("quantity", "Integer 32", nil)],
      relationships: [
        ("invoice", "Invoice", "lines", false), ("track", "Track", "invoiceLines", false),
      ]),
    .init(
      name: "Playlist", attributes: [("name", "String", nil)],
      relationships: [("tracks", "Track", "playlists", true)]),
  ])

  /// How a table of the data becomes lines: (entity, its key, attribute names, (column, relationship)).
  private static let tables:
    [(
      entity: String, attributes: [(column: String, name: String)],
      references: [(column: String, name: String)]
    )] = [
      ("Genre", [("Name", "name")], []),
      ("MediaType", [("Name", "name")], []),
      ("Artist", [("Name", "name")], []),
      ("Album", [("Title", "title")], [("ArtistId", "artist")]),
      (
        "Track",
        [
          ("Name", "name"), ("Composer", "composer"), ("Milliseconds", "milliseconds"),
          ("Bytes", "bytes"), ("UnitPrice", "unitPrice"),
        ], [("AlbumId", "album"), ("GenreId", "genre"), ("MediaTypeId", "mediaType")]
      ),
      (
        "Employee",
        [
          ("LastName", "lastName"), ("FirstName", "firstName"), ("Title", "title"),
          ("BirthDate", "birthDate"), ("Email", "email"),
        ], [("ReportsTo", "reportsTo")]
      ),
      (
        "Customer",
        [
          ("FirstName", "firstName"), ("LastName", "lastName"), ("Email", "email"),
          ("Country", "country"),
        ], [("SupportRepId", "supportRep")]
      ),
      (
        "Invoice", [("InvoiceDate", "date"), ("Total", "total"), ("BillingCity", "city")],
        [("CustomerId", "customer")]
      ),
      (
        "InvoiceLine", [("UnitPrice", "unitPrice"), ("Quantity", "quantity")],
        [("InvoiceId", "invoice"), ("TrackId", "track")]
      ),
    ]

  /// The data as import lines: one transaction a table, playlists with their tracks last.
  static func lines(of file: URL) throws -> [String] {
    guard
      let data = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        as? [String: [[String: Any]]]
    else { throw HarnessError(description: "\(file.path) is not a dictionary of tables") }
    var lines: [String] = []
    for table in tables {
      for row in data[table.entity] ?? [] {
        lines.append(try line(entity: table.entity, row: row, table: table))
      }
      lines.append(#"{"op":"save","author":"chinook"}"#)
    }
    let members = Dictionary(grouping: data["PlaylistTrack"] ?? []) { "\($0["PlaylistId"] ?? "")" }
    for row in data["Playlist"] ?? [] {
      let id = "\(row["PlaylistId"] ?? "")"
      lines.append(
        try jsonLine([
          "op": "insert", "entity": "Playlist", "id": id,
          "set": [
            "name": row["Name"] ?? NSNull(),
            "tracks": (members[id] ?? []).map { "\($0["TrackId"] ?? "")" },
          ],
        ]))
    }
    return lines
  }

  private static func line(
    entity: String, row: [String: Any],
    table: (
      entity: String, attributes: [(column: String, name: String)],
      references: [(column: String, name: String)]
    )
  ) throws -> String {
    var set: [String: Any] = [:]
    for (column, name) in table.attributes {
      guard let value = row[column], !(value is NSNull) else { continue }
      switch name {
      case "unitPrice", "total": set[name] = "\(value)"
      case "birthDate", "date": set[name] = "\(value)Z"
      default: set[name] = value
      }
    }
    for (column, name) in table.references {
      guard let value = row[column], !(value is NSNull) else { continue }
      set[name] = "\(value)"
    }
    return try jsonLine([
      "op": "insert", "entity": entity, "id": "\(row["\(entity)Id"] ?? "")", "set": set,
    ])
  }

  @Test(
    "Three replicas hold the same music shop after sync, and again after offline edits",
    .enabled(if: SharedData.has("chinook"), "no ../shared"))
  func threeReplicasEndEqual() throws {
    let file = SharedData.url("chinook/ChinookData.json")
    let directory = try TemporaryDirectory()
    let model = try writeModel(Self.model.xml, named: "Chinook", in: directory)
    let server = try ServerProcess(data: directory.file("server"), zone: "shop")
    let token = try server.token(zone: "shop")
    let replicas = try ["kiosk", "till", "ship"].map {
      try Replica(
        $0, in: directory, model: model, server: server, zone: "shop", token: token)
    }

    try replicas[0].importLines(Self.lines(of: file))
    try replicas.settle()
    let first = try replicas.map { try $0.digest() }
    #expect(Set(first).count == 1)
    #expect(try replicas[2].export().split(separator: "\n").count == 6_892)
    #expect(
      try replicas[2].export().contains("\"unitPrice\":\"0.99\""),
      "decimals travel as exact text")

    server.kill()
    for (index, replica) in replicas.enumerated() {
      let outcome = try replica.attempt("sync")
      #expect(outcome.status == 69, "offline is said by exit code 69: \(outcome.errors)")
      try replica.importLines([
        #"{"op":"update","entity":"Track","id":"1","set":{"plays":\#(index + 1)}}"#,
        #"{"op":"update","entity":"Track","id":"2","set":{"milliseconds":\#(400_000 + index)}}"#,
        #"{"op":"update","entity":"Track","id":"3","set":{"composer":"heard by \#(replica.name)"}}"#,
        #"{"op":"update","entity":"Genre","id":"\#(index + 1)","set":{"name":"by \#(replica.name)"}}"#,
        #"{"op":"update","entity":"Playlist","id":"18","set":{"tracks":["597","\#(index + 1)"]}}"#,
      ])
    }
    try server.start()
    try replicas.settle()

    let exports = try replicas.map { try $0.export() }
    #expect(exports[0] == exports[1])
    #expect(exports[0] == exports[2])
    #expect(exports[0].contains("\"plays\":6"), "a counter adds up what each replica counted")
    #expect(exports[0].contains("\"milliseconds\":400002"), "max keeps the largest")
    for replica in replicas {
      #expect(exports[0].contains("by \(replica.name)\""), "each genre keeps its one edit")
      let pending = try replica.status()["pending"] as? [String: Any]
      #expect(pending?["properties"] as? Int == 0)
    }
  }
}
