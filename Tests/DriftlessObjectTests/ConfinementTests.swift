import Driftless
import Foundation
import TestSupport
import Testing

/// What an object that is used off its context's queue meets in a debug build.
///
/// The compiler refuses such code; here it is told to look away.
@Suite struct ConfinementTests {
  /// Holds an object where nobody checks it.
  private final class Smuggler: @unchecked Sendable {  // what these tests are about
    var object: ManagedObject?
    var context: ManagedObjectContext?
  }

  #if DEBUG
    @Test("An object that is made off its context's queue is told")
    func made() async throws {
      await #expect(processExitsWith: .failure) {
        let library = try Library()
        let context = library.container.newBackgroundContext()
        let smuggler = Smuggler()
        context.performAndWait { smuggler.context = $0 }
        _ = try? smuggler.context?.insert(Tag.self)
      }
    }

    @Test("A view context that is saved off the main actor is told")
    func saved() async throws {
      await #expect(processExitsWith: .failure) {
        let library = try Library()
        let smuggler = Smuggler()
        await MainActor.run { smuggler.context = library.container.viewContext }
        await Task.detached { try? smuggler.context?.save() }.value
      }
    }
  #endif

  @Test("Contexts and containers end wherever they are let go of last")
  func ended() async throws {
    let smuggler = Smuggler()
    do {
      let library = try Library()
      let context = library.container.newBackgroundContext()
      try await context.perform { context in
        let tag = try context.insert(Tag.self)
        tag.name = "kept"
        smuggler.object = tag
      }
      await MainActor.run {
        let tag = try? library.container.viewContext.insert(Tag.self)
        tag?.name = "unsaved"
      }
    }
    // The contexts are gone: what they held goes with them, and what somebody else holds is nobody's.
    #expect((smuggler.object as? Tag)?.name == "kept")
    smuggler.object = nil
  }
}
