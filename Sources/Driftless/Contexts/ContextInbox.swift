import Synchronization

/// Transactions of a store that no context of the coordinator saved: of sync, an import, a batch or another process.
struct ForeignCommits: Sendable {
  let plan: ObjectPlan
  /// The store that the numbers are of: a plan may have gone on in another one.
  let store: PersistentStore
  let after: Int64
  let through: Int64
}

/// Where news waits until the context gets to it, on its own thread: what other contexts saved, and what came into the stores
/// in another way.
final class ContextInbox: Sendable {
  struct News {
    var saves: [ContextChanges] = []
    var commits: [ForeignCommits] = []
  }

  private struct Content {
    var isOpen = false
    var news = News()
    var keyCount = 0
    /// Whether the context was told, and has not looked yet.
    var isRung = false
    var bell: (@Sendable () -> Void)?
  }

  /// Beyond so many keys, or parts, the history says what changed, and only its place is kept.
  private static let keysMax = 65_536
  private static let partsMax = 64

  let owner: Int64
  /// The context that the owner reads from; nil for the stores. What others saved into it is news.
  private let parent: Int64?
  private let content = Mutex(Content())

  init(owner: Int64, parent: Int64?) {
    self.owner = owner
    self.parent = parent
  }

  var isOpen: Bool {
    get { content.withLock { $0.isOpen } }
    set {
      content.withLock { content in
        content.isOpen = newValue
        guard !newValue else { return }
        content.news = News()
        content.keyCount = 0
      }
    }
  }

  /// Called, on any thread, when there is news and was none: for a context that has a place to look at it by itself.
  func setBell(_ bell: @escaping @Sendable () -> Void) { content.withLock { $0.bell = bell } }

  func put(_ changes: ContextChanges) {
    guard changes.target == nil || changes.target == parent else { return }
    add { content in
      content.news.saves.append(changes)
      content.keyCount += changes.parts.reduce(0) { $0 + $1.keyCount }
      guard content.keyCount > Self.keysMax || content.news.saves.count > Self.partsMax else {
        return
      }
      // What went into the parent is in no history.
      let kept = content.news.saves.filter { $0.target != nil }
      for part in content.news.saves.lazy.filter({ $0.target == nil }).flatMap(\.parts)
      where part.transaction > 0 {
        Self.add(
          ForeignCommits(
            plan: part.plan, store: part.plan.store, after: part.transaction - 1,
            through: part.transaction), to: &content.news.commits)
      }
      content.news.saves = kept
      content.keyCount = 0
    }
  }

  func put(_ commits: ForeignCommits) { add { Self.add(commits, to: &$0.news.commits) } }

  /// Keeps for later what the context could not take over now.
  func putBack(_ commits: ForeignCommits) {
    content.withLock { content in
      if content.isOpen { Self.add(commits, to: &content.news.commits) }
    }
  }

  func takeAll() -> News {
    content.withLock { content in
      defer {
        content.news = News()
        content.keyCount = 0
        content.isRung = false
      }
      return content.news
    }
  }

  private func add(_ change: (inout Content) -> Void) {
    let bell: (@Sendable () -> Void)? = content.withLock { content in
      guard content.isOpen else { return nil }
      change(&content)
      guard !content.isRung else { return nil }
      content.isRung = content.bell != nil
      return content.bell
    }
    bell?()
  }

  /// Ranges that follow each other are one, and many of a store are one: what lies between was taken over, and is again.
  private static func add(_ commits: ForeignCommits, to all: inout [ForeignCommits]) {
    let isCrowded = all.count >= partsMax
    guard
      let place = all.lastIndex(where: { $0.store === commits.store }),
      isCrowded || all[place].after <= commits.through && commits.after <= all[place].through
    else { return all.append(commits) }
    all[place] = ForeignCommits(
      plan: commits.plan, store: commits.store, after: min(all[place].after, commits.after),
      through: max(all[place].through, commits.through))
  }
}
