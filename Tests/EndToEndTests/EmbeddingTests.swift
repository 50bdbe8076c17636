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

/// The README's lines that embed a store which syncs, word for word, against a real server.
@Suite(.serialized) struct EmbeddingTests {
  private static let model = ModelText(entities: [
    .init(name: "Book", attributes: [("title", "String", nil), ("pages", "Integer 64", nil)])
  ])

  @Test("A few lines of Swift make a store that syncs")
  func fewLines() async throws {
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
    let storeURL = directory.file("books/library.sqlite")
    let (states, shown) = AsyncStream.makeStream(of: SyncState.self)
    @Sendable func show(_ state: SyncState) { shown.yield(state) }

    // README: begin
    let model = try ManagedObjectModel(contentsOf: modelURL)
    let library = try await LocalStore.open(model: model, at: storeURL)
    let syncing = Task {
      for await state in try await library.sync(with: serverURL, zone: "library", token: token) {
        show(state)
      }
    }
    try await library.write { context in
      try context.insert(Book.self).title = "Persuasion"
    }
    // README: end
    for await state in states {
      guard case .inStep = state else { continue }
      if try SyncEngine.status(of: library.store).pending.objects == 0 { break }
    }
    // README: begin
    let long = try await library.read { context in
      try context.fetch(Book.self, where: Book.pages > 300, order: Book.title.ascending)
        .map(\.title)
    }
    // README: end

    #expect(long == ["Middlemarch"])
    try other.sync()
    #expect(try other.export().contains("Persuasion"))
    syncing.cancel()
    try await syncing.value
  }

  @Test("The README shows these lines")
  func readmeIsTrue() throws {
    func lines(_ text: String) -> [Substring] {
      text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
    }
    let here = try String(contentsOfFile: #filePath, encoding: .utf8)
    let parts = here.components(separatedBy: "    // README: begin\n").dropFirst()
      .compactMap { $0.components(separatedBy: "    // README: end\n").first }
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let readme = try String(
      contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    let shown = lines(readme)
    let code = parts.flatMap(lines)
    #expect(code.count > 10)
    for line in code { #expect(shown.contains(line), "the README does not show: \(line)") }
  }
}
