import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation
import TestSupport
import Testing

/// The README's class.
final class Book: ManagedObject {
  static let title = Attribute<Book, String>("title")
  static let pages = Attribute<Book, Int64>("pages")
  var title: String {
    get { self[Book.title] }
    set { self[Book.title] = newValue }
  }
}

/// The README's ten lines that embed a replica, word for word, against a real server.
@Suite(.serialized) struct EmbeddingTests {
  private static let model = ModelText(entities: [
    .init(name: "Book", attributes: [("title", "String", nil), ("pages", "Integer 64", nil)])
  ])

  @Test("Ten lines of Swift make a replica that syncs")
  func tenLines() async throws {
    let directory = try TemporaryDirectory()
    let modelURL = try writeModel(Self.model.xml, named: "Library", in: directory)
    let server = try ServerProcess(data: directory.file("server"), zone: "library")
    let token = try server.token(zone: "library")
    let serverURL = try #require(URL(string: server.address))
    let other = try Replica(
      "other", in: directory, model: modelURL, server: server, zone: "library", token: token)
    try other.importLines([
      #"{"op":"insert","entity":"Book","id":"1","set":{"title":"Middlemarch","pages":880}}"#
    ])
    try other.sync()

    // README: begin
    let model = try ManagedObjectModel(contentsOf: modelURL)
    let container = PersistentContainer(
      name: "Library", model: model, storeURL: directory.file("library.sqlite"))
    try container.loadPersistentStores()
    let store = container.persistentStoreCoordinator.persistentStores[0]
    let transport = try CurlTransport(server: serverURL, zone: "library", token: token)
    try SyncEngine.enroll(
      store: store, server: serverURL, zone: "library", info: try await transport.zoneInfo())
    try await container.perform { context in
      try context.insert(Book.self).title = "Persuasion"
      try context.save()
    }
    let report = try await SyncEngine(store: store, transport: transport).sync()
    let long = try await container.perform { context in
      try context.fetch(Book.self, where: Book.pages > 300, order: Book.title.ascending)
        .map(\.title)
    }
    // README: end

    #expect(report.push.objects == 1)
    #expect(long == ["Middlemarch"])
    try other.sync()
    #expect(try other.export().contains("Persuasion"))
  }

  @Test("The README shows these lines")
  func readmeIsTrue() throws {
    func lines(_ text: String) -> [Substring] {
      text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
    }
    let here = try String(contentsOfFile: #filePath, encoding: .utf8)
    let code = try #require(
      here.components(separatedBy: "// README: begin\n").last?
        .components(separatedBy: "    // README: end").first)
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let readme = try String(
      contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    let shown = lines(readme)
    for line in lines(code) where !line.contains("directory.file") {
      #expect(shown.contains(line), "the README does not show: \(line)")
    }
  }
}
