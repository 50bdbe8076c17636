import Synchronization

/// Where other contexts' saves wait until the context gets to them, on its own thread.
final class ContextInbox: Sendable {
  private struct Content {
    var isOpen = false
    var changes: [ContextChanges] = []
  }

  let owner: Int64
  private let content = Mutex(Content())

  init(owner: Int64) { self.owner = owner }

  var isOpen: Bool {
    get { content.withLock { $0.isOpen } }
    set {
      content.withLock {
        $0.isOpen = newValue
        if !newValue { $0.changes = [] }
      }
    }
  }

  func put(_ changes: ContextChanges) {
    content.withLock { if $0.isOpen { $0.changes.append(changes) } }
  }

  func takeAll() -> [ContextChanges] {
    content.withLock { content in
      defer { content.changes = [] }
      return content.changes
    }
  }
}
