import Glibc
import Synchronization

/// Ctrl-C in a command that ends where it can say what it did. A second one ends it at once.
enum Interrupt {
  private static let isAsked = Atomic<Bool>(false)

  /// From now on the first interrupt is only noted.
  static func noteFirst() {
    // It is there before the handler looks for it.
    isAsked.store(false, ordering: .relaxed)
    signal(SIGINT) { _ in
      Interrupt.isAsked.store(true, ordering: .relaxed)
      signal(SIGINT, SIG_DFL)
    }
  }

  static var wasAsked: Bool { isAsked.load(ordering: .relaxed) }
}
