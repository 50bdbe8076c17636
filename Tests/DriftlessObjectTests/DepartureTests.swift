import Driftless
import Foundation
import TestSupport
import Testing

/// Objects that are let go of elsewhere than their context is used.
@Suite struct DepartureTests {
  private static let count = 100
  private let library: Library

  init() throws {
    library = try Library()
    let context = library.container.newContext()
    for number in 0..<Self.count {
      let tag = try context.insert(Tag.self)
      tag.name = "tag \(number)"
    }
    try context.save()
  }

  /// Takes objects off their context's queue, where nothing is done with them but to let them go.
  private final class Box: @unchecked Sendable {
    private var objects: [ManagedObject]

    init(_ objects: [ManagedObject]) { self.objects = objects }

    func empty() { objects = [] }
  }

  /// All tags, with their values right and each of them once.
  private static func tags(_ context: ManagedObjectContext) throws -> [Tag] {
    let tags = try context.fetch(Tag.self)
    #expect(Set(tags.map(\.name)) == Set((0..<count).map { "tag \($0)" }))
    #expect(tags.allSatisfy { $0 === context.registeredObject(for: $0.objectID) })
    return tags
  }

  @Test("Objects are let go of anywhere while their context finds and makes the same ones")
  func whileFound() async throws {
    let context = library.container.newBackgroundContext()
    let ids = try await context.perform { try $0.fetch(Tag.self).map(\.objectID) }
    await withThrowingTaskGroup(of: Void.self) { group in
      for round in 0..<200 {
        group.addTask {
          let box = try await context.perform { context in
            let tags = try Self.tags(context)
            if round.isMultiple(of: 3) { tags.first?.name = "changed" }
            context.rollback()
            return Box(tags)
          }
          box.empty()
          let other = try await context.perform { context in
            Box(ids.reversed().compactMap { context.object(with: $0) })
          }
          other.empty()
        }
      }
    }
    try await context.perform { context in
      #expect(context.registeredObjects.isEmpty)
      _ = try Self.tags(context)
    }
  }

  @Test("A context ends while its objects are let go of elsewhere")
  func whileContextEnds() async throws {
    for _ in 0..<100 {
      var context: BackgroundContext? = library.container.newBackgroundContext()
      let boxes = try await context?.perform { context in
        let tags = try Self.tags(context)
        for tag in tags.prefix(10) { tag.name = "unsaved" }
        return [Box(Array(tags.prefix(50))), Box(Array(tags.suffix(50)))]
      }
      async let first: Void = Task.detached { boxes?.first?.empty() }.value
      async let second: Void = Task.detached { boxes?.last?.empty() }.value
      context = nil
      _ = await (first, second)
    }
  }

  @Test("A view context and its objects are let go of off the main actor")
  func viewContext() async throws {
    for _ in 0..<50 {
      let another = try library.another()
      let box = try await MainActor.run { Box(try Self.tags(another.viewContext)) }
      box.empty()
      try await MainActor.run { _ = try Self.tags(another.viewContext) }
    }
  }

  @Test("What is let go of elsewhere is gone, and found anew as the store has it")
  func foundAnew() async throws {
    let context = library.container.newBackgroundContext()
    let id = try await context.perform { context in
      try #require(Self.tags(context).first { $0.name == "tag 7" }).objectID
    }
    let box = try await context.perform { Box([try $0.existingObject(with: id)]) }
    let isKnown = try await context.perform { $0.registeredObject(for: id) != nil }
    #expect(isKnown)
    box.empty()
    try await context.perform { context in
      #expect(context.registeredObject(for: id) == nil)
      let fault = try #require(context.object(with: id))
      #expect(fault.isFault && context.registeredObject(for: id) === fault)
      #expect((fault as? Tag)?.name == "tag 7")
    }
  }

  @Test("A deleted new object goes elsewhere, and comes back with an undo under its key")
  func newObject() async throws {
    let context = library.container.newBackgroundContext()
    let (box, id) = try await context.perform { context in
      let tag = try context.insert(Tag.self)
      tag.name = "new"
      let id = tag.objectID
      context.delete(tag)
      return (Box([tag]), id)
    }
    box.empty()
    try await context.perform { context in
      #expect(context.registeredObject(for: id) == nil && context.insertedObjects.isEmpty)
      let next = try context.insert(Tag.self)
      #expect(next.objectID != id)
      try context.save()
      #expect(try context.count(for: FetchRequest<Tag>(entityName: "Tag")) == Self.count + 1)
    }
  }

  @Test("Objects of a context without a queue are let go of anywhere while it finds and makes them")
  func withoutQueue() throws {
    let context = library.container.newContext()
    let child = ManagedObjectContext(parent: context)
    let queue = DispatchQueue(label: "elsewhere", attributes: .concurrent)
    for round in 0..<300 {
      // Nobody has the tags but the boxes, which are emptied while the context goes on.
      let boxes = try {
        let tags = try Self.tags(round.isMultiple(of: 2) ? context : child)
        return stride(from: 0, to: Self.count, by: 10).map { Box(Array(tags[$0..<$0 + 10])) }
      }()
      for box in boxes { queue.async { box.empty() } }
      for number in 0..<20 { try context.insert(Tag.self).name = "new \(number)" }
      child.rollback()
      context.rollback()
    }
    queue.sync(flags: .barrier) {}
    context.processPendingChanges()
    child.processPendingChanges()
    #expect(context.registeredObjects.isEmpty && child.registeredObjects.isEmpty)
    _ = try Self.tags(child)
  }

  @Test("A notification that somebody keeps elsewhere lets go of its objects there")
  func notifications() throws {
    let context = library.container.newContext()
    let queue = OperationQueue()
    let observer = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: context, queue: queue
    ) { _ in }
    defer { NotificationCenter.default.removeObserver(observer) }
    for round in 0..<200 {
      for number in 0..<10 { try context.insert(Tag.self).name = "\(round) \(number)" }
      try context.save()
    }
    queue.waitUntilAllOperationsAreFinished()
    context.processPendingChanges()
    #expect(context.registeredObjects.isEmpty)
    #expect(try context.count(Tag.self) == 2000 + Self.count)
  }
}
