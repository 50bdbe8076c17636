import Foundation
import TestSupport
import Testing

/// A host with a small disk: it joins a zone of large values with the programs, and fetches them when it is told to.
@Suite(.serialized) struct FirstUseProgramTests {
  private struct World {
    let directory: TemporaryDirectory
    let server: ServerProcess
    let model: URL
    let token: String

    init() throws {
      directory = try TemporaryDirectory()
      let text = ModelText(entities: [
        .init(name: "Photo", attributes: [("name", "String", nil), ("image", "Binary", nil)])
      ])
      model = try writeModel(text.xml, named: "Photos", in: directory)
      server = try ServerProcess(data: directory.file("server"), zone: "photos")
      token = try server.token(zone: "photos")
      let limits = directory.file("limits.json")
      try Data(#"{ "valueBytesMax": 100000000 }"#.utf8).write(to: limits)
      server.kill()
      server.limits = limits
      try server.start()
    }

    func replica(_ name: String) throws -> Replica {
      try Replica(
        name, in: directory, model: model, server: server, zone: "photos", token: token)
    }

    /// A line that gives the photo other bytes.
    static func line(_ operation: String, _ number: Int) -> String {
      var numbers = SeededNumbers(seed: UInt64(number))
      let bytes = (0..<1_200_000).map { _ in UInt8(truncatingIfNeeded: numbers.next()) }
      let text = Data(bytes).base64EncodedString()
      return
        #"{"op":"\#(operation)","entity":"Photo","id":"rome","set":{"image":"\#(text)","name":"p\#(number)"}}"#
    }
  }

  @Test(
    "A kiosk joins without the photos, says where they are, and fetches them when it is told to, killed or not"
  )
  func kiosk() throws {
    let world = try World()
    let (studio, kiosk) = (try world.replica("studio"), try world.replica("kiosk"))
    try kiosk.run(
      [
        "enroll", "--store", kiosk.store.path, "--server", world.server.address, "--zone", "photos",
        "--values", "first-use",
      ], environment: ["SYNCCTL_TOKEN": world.token])
    try studio.importLines([World.line("insert", 0)])
    try studio.sync()
    try kiosk.sync()
    #expect(try kiosk.status()["valuesInZone"] as? Int == 1)
    #expect(try kiosk.status()["state"] as? String == "in-step")
    let list = try kiosk.run(["values", "list", "--store", kiosk.store.path])
    #expect(list.contains("image  1200000 bytes  in the zone"), "\(list)")
    let export = try kiosk.export()
    #expect(export.contains(#""inZone":{"image":{"bytes":1200000,"#), "\(export.suffix(200))")
    #expect(try kiosk.attempt("unenroll").errors.contains("syncctl values download"))
    // An edit of another property leaves the photo alone.
    let lines = [#"{"op":"update","entity":"Photo","id":"rome","set":{"name":"Roma"}}"#]
    try kiosk.importLines(lines)
    try [kiosk, studio].settle()
    #expect(try studio.export().contains(#""name":"Roma""#))
    #expect(try !studio.export().contains("inZone"))
    try kiosk.run(["verify", "--store", kiosk.store.path])

    for number in [1, 3, 6, 10, 16, 24] {
      try studio.importLines([World.line("update", number)])
      try studio.sync()
      try kiosk.sync()
      _ = try kiosk.attempt(["values", "download"], .kill, at: number)
      try kiosk.expectSound("killed at \(number)")
      try kiosk.run(["values", "download", "--store", kiosk.store.path])
      #expect(try kiosk.export() == studio.export(), "killed at \(number)")
    }
    #expect(try kiosk.status()["valuesInZone"] as? Int == 0)

    for number in [1, 3, 6, 10, 16] {
      _ = try kiosk.attempt(["values", "let-go"], .kill, at: number)
      try kiosk.expectSound("killed at \(number)")
      let gone = try kiosk.run(["values", "let-go", "--store", kiosk.store.path])
      #expect(gone.contains("let go of"), "\(gone)")
      #expect(try kiosk.status()["valuesInZone"] as? Int == 1, "killed at \(number)")
      #expect(try kiosk.status()["state"] as? String == "in-step")
      try kiosk.run(["values", "download", "--store", kiosk.store.path])
      #expect(try kiosk.export() == studio.export(), "killed at \(number)")
    }
    let kept = try kiosk.run([
      "values", "let-go", "--store", kiosk.store.path, "--keep-bytes", "1200000",
    ])
    #expect(kept.contains("nothing was let go of"), "\(kept)")
  }
}
