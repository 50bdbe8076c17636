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
    /// Stores of which so much came into the parent that any object may have changed.
    var doubtful: [ObjectPlan] = []
  }

  /// What others saved into the parent, which is in no history: each key once, however long the context does not look.
  private struct SavedIntoParent {
    struct Part {
      let plan: ObjectPlan
      var inserted: Set<ObjectKey> = []
      var updated: Set<ObjectKey> = []
      var deleted: Set<ObjectKey> = []
      /// Whether there were more than are kept.
      var isDoubtful = false
    }

    var parts: [Part] = []

    mutating func add(_ part: ContextChanges.Part, max: Int) {
      let place = parts.firstIndex { $0.plan === part.plan } ?? parts.endIndex
      if place == parts.endIndex { parts.append(Part(plan: part.plan)) }
      guard !parts[place].isDoubtful else { return }
      parts[place].inserted.formUnion(part.inserted)
      parts[place].updated.formUnion(part.updated)
      parts[place].deleted.formUnion(part.deleted)
      let count =
        parts[place].inserted.count + parts[place].updated.count + parts[place].deleted.count
      if count > max { parts[place] = Part(plan: part.plan, isDoubtful: true) }
    }

    /// The parent's objects have other keys.
    mutating func rename(_ renamed: [Int64: PlacedKey]) {
      for place in parts.indices {
        let plan = parts[place].plan.index
        func name(_ keys: inout Set<ObjectKey>) {
          let old = keys.filter { $0.key < 0 && renamed[$0.key]?.plan == plan }
          keys.subtract(old)
          keys.formUnion(old.compactMap { renamed[$0.key]?.key })
        }
        name(&parts[place].inserted)
        name(&parts[place].updated)
        name(&parts[place].deleted)
      }
    }

    func changes(target: Int64?) -> ContextChanges? {
      guard !parts.isEmpty else { return nil }
      return ContextChanges(
        source: 0, target: target,
        parts: parts.map {
          ContextChanges.Part(
            plan: $0.plan, inserted: Array($0.inserted), updated: Array($0.updated),
            deleted: Array($0.deleted))
        })
    }
  }

  private struct Content {
    var isOpen = false
    var news = News()
    var intoParent = SavedIntoParent()
    var keyCount = 0
    /// Whether the context was told, and has not looked yet.
    var isRung = false
    var bell: (@Sendable () -> Void)?
    /// Whether the bell can be rung here.
    var isNear: @Sendable () -> Bool = { true }

    var hasNews: Bool {
      !news.saves.isEmpty || !news.commits.isEmpty || !intoParent.parts.isEmpty
    }
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
        content.intoParent = SavedIntoParent()
        content.keyCount = 0
      }
    }
  }

  /// Called, on any thread, when there is news and was none: for a context that has a place to look at it by itself.
  ///
  /// - Parameter isNear: Whether it is to be called on this thread; what is said of the inbox is not at hand there.
  func setBell(
    where isNear: @escaping @Sendable () -> Bool = { true }, _ bell: @escaping @Sendable () -> Void
  ) {
    content.withLock { content in
      content.bell = bell
      content.isNear = isNear
    }
  }

  /// Whether something waits.
  var hasNews: Bool { content.withLock { $0.hasNews } }

  func put(_ changes: ContextChanges) {
    guard changes.target == nil || changes.target == parent else { return }
    add { content in
      guard changes.target == nil else {
        for part in changes.parts { content.intoParent.add(part, max: Self.keysMax) }
        return
      }
      content.news.saves.append(changes)
      content.keyCount += changes.parts.reduce(0) { $0 + $1.keyCount }
      guard content.keyCount > Self.keysMax || content.news.saves.count > Self.partsMax else {
        return
      }
      for part in content.news.saves.lazy.flatMap(\.parts) where part.transaction > 0 {
        Self.add(
          ForeignCommits(
            plan: part.plan, store: part.plan.store, after: part.transaction - 1,
            through: part.transaction), to: &content.news.commits)
      }
      content.news.saves = []
      content.keyCount = 0
    }
  }

  func put(_ commits: ForeignCommits) { add { Self.add(commits, to: &$0.news.commits) } }

  /// The parent's objects have other keys: what was put before is of them.
  func rename(_ renamed: [Int64: PlacedKey]) {
    content.withLock { $0.intoParent.rename(renamed) }
  }

  /// Keeps for later what the context could not take over now.
  func putBack(_ commits: ForeignCommits) {
    content.withLock { content in
      if content.isOpen { Self.add(commits, to: &content.news.commits) }
    }
  }

  /// Nil for none.
  func takeAll() -> News? {
    content.withLock { content in
      guard content.hasNews else {
        content.isRung = false
        return nil
      }
      defer {
        content.news = News()
        content.intoParent = SavedIntoParent()
        content.keyCount = 0
        content.isRung = false
      }
      var news = content.news
      if let changes = content.intoParent.changes(target: parent) { news.saves.append(changes) }
      news.doubtful = content.intoParent.parts.lazy.filter(\.isDoubtful).map(\.plan)
      return news
    }
  }

  private func add(_ change: (inout Content) -> Void) {
    let bell: (@Sendable () -> Void)? = content.withLock { content in
      guard content.isOpen else { return nil }
      change(&content)
      guard !content.isRung, content.isNear() else { return nil }
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
