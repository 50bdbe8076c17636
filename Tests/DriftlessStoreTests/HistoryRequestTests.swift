import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Requests to the history in every form, tokens that cannot be answered, readers, and merging.
struct HistoryRequestTests {
  /// Three transactions: two objects by `app`, one of them changed by nobody, and deleted by `till`.
  private func store() throws -> (PersistentStore, tool: ObjectKey) {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    try store.insert("Item", info: TransactionInfo(author: "app"))
    let tool = try store.insert(
      "Tool", ["serial": .string("s1")], info: TransactionInfo(author: "app", contextName: "main"))
    try store.update(tool, "name", .string("drill"))
    _ = try store.write(TransactionInfo(author: "till")) {
      try $0.delete(tool, expectedVersion: nil)
    }
    return (store, tool)
  }

  private var all: PersistentHistoryChangeRequest {
    .fetchHistory(after: nil as PersistentHistoryToken?)
  }

  @Test("Each result type gives what its name says, and nothing else")
  func resultTypes() throws {
    let (store, tool) = try store()
    for type in PersistentHistoryChangeRequest.ResultType.allCases {
      var request = all
      request.resultType = type
      let result = try store.execute(request)
      switch type {
      case .statusOnly: #expect(result.result as? Bool == true)
      case .count: #expect(result.result as? Int == 4)
      case .objectIDs:
        let keys = (result.result as? [ManagedObjectID])?.map(\.key)
        #expect(keys == [ObjectKey(entity: 1, key: 1), tool], "each once, by its first change")
      case .transactionsOnly:
        let transactions = result.result as? [PersistentHistoryTransaction]
        #expect(transactions?.map(\.transactionNumber) == [1, 2, 3, 4])
        #expect(transactions?.contains { $0.changes != nil } == false)
      case .changesOnly:
        let changes = result.result as? [PersistentHistoryChange]
        #expect(changes?.map(\.changeType) == [.insert, .insert, .update, .delete])
        #expect(changes?.map { $0.transaction?.transactionNumber } == [1, 2, 3, 4])
        #expect(changes?.last?.tombstone == ["serial": .string("s1")])
        #expect(changes?[2].updatedProperties == ["name"])
      case .transactionsAndChanges:
        #expect(result.transactions?.map { $0.changes?.count } == [1, 1, 1, 1])
        #expect(result.changes == nil && result.count == nil && result.objectIDs == nil)
      }
    }
  }

  @Test("Fetch requests filter transactions and changes by each of their keys, sort and cut them")
  func predicates() throws {
    let (store, tool) = try store()
    func transactions(_ format: String, _ arguments: Any?...) throws -> [Int64] {
      var fetch = PersistentHistoryTransaction.fetchRequest
      fetch.predicate = try FetchPredicate(format: format, argumentArray: arguments)
      return try store.fetchHistory(.fetchHistory(withFetch: fetch)).map(\.transactionNumber)
    }
    #expect(try transactions("author == 'app'") == [1, 2])
    #expect(try transactions("author != 'app'") == [4], "no author is no other author")
    #expect(try transactions("author != 'app' OR author == nil") == [3, 4])
    #expect(try transactions("contextName == 'main'") == [2])
    #expect(try transactions("bundleID == nil") == [1, 2, 3, 4])
    #expect(
      try transactions("processID == %@", ProcessInfo.processInfo.processName) == [1, 2, 3, 4])
    #expect(try transactions("timestamp > %@", Date.distantFuture) == [])
    #expect(try transactions("transactionNumber BETWEEN {2, 3}") == [2, 3])
    let token = PersistentHistoryToken(numbers: [store.identifier: 2])
    #expect(try transactions("token > %@", token) == [3, 4])
    func changes(_ format: String, _ arguments: Any?...) throws -> [Int64] {
      var fetch = PersistentHistoryChange.fetchRequest
      fetch.predicate = try FetchPredicate(format: format, argumentArray: arguments)
      var request = PersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
      request.resultType = .changesOnly
      return try store.execute(request).changes?.map(\.changeID) ?? []
    }
    #expect(try changes("changeType == %@", ChangeType.delete) == [4])
    #expect(try changes("changedEntity == 'Tool'") == [2, 3, 4])
    #expect(try changes("changedObjectID == %@", tool) == [2, 3, 4])
    #expect(try changes("transaction.author == 'till'") == [4])
    var fetch = PersistentHistoryTransaction.fetchRequest
    fetch.sort = [FetchSort("transactionNumber", ascending: false)]
    fetch.limit = 2
    fetch.offset = 1
    let cut = try store.fetchHistory(.fetchHistory(withFetch: fetch))
    #expect(cut.map(\.transactionNumber) == [3, 2])
    #expect(throws: FetchError.self) { try transactions("colour == 'red'") }
  }

  @Test("Purging before a transaction, a token or a date is strict, and says how many went")
  func purging() throws {
    let (store, _) = try store()
    let history = try store.fetchHistory(all)
    func purge(_ request: PersistentHistoryChangeRequest) throws -> Int? {
      var request = request
      request.resultType = .count
      return try store.execute(request).count
    }
    #expect(try purge(.deleteHistory(before: history[0])) == 0)
    #expect(try purge(.deleteHistory(before: nil as PersistentHistoryToken?)) == 0)
    #expect(try purge(.deleteHistory(before: history[1])) == 1)
    #expect(try purge(.deleteHistory(before: history[2].token)) == 1)
    #expect(try store.execute(.deleteHistory(before: Date.distantFuture)).status == true)
    #expect(try store.fetchHistory(all).isEmpty)
    #expect(try store.check().isSound)
  }

  @Test("A token that cannot be answered says so, and what to do: purged, foreign, from later on")
  func unanswerable() throws {
    let (store, _) = try store()
    try store.deleteHistory(before: PersistentHistoryToken(numbers: [store.identifier: 3]))
    for (numbers, reason) in [
      ([store.identifier: Int64(1)], "purged"), (["another": 9], "another store"),
      ([store.identifier: 99], "older copy"),
    ] {
      #expect {
        _ = try store.fetchHistory(.fetchHistory(after: PersistentHistoryToken(numbers: numbers)))
      } throws: { error in
        guard let error = error as? StoreError else { return false }
        return error.code == .historyTokenExpired && error.message.contains(reason)
          && error.suggestion.contains("current token")
      }
    }
    #expect(throws: StoreError.self, "a reader cannot begin before what is left") {
      try store.registerHistoryReader(
        "late", at: PersistentHistoryToken(numbers: [store.identifier: 1]))
    }
    #expect(try store.historyReaders().isEmpty)
  }

  @Test("A token outlives the process that took it, as does a reader's place")
  func survival() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("shop.sqlite")
    var bytes = Data()
    do {
      let store = try PersistentStore.open(url: url, model: Shop.model())
      try store.insert("Item")
      bytes = try JSONEncoder().encode(store.currentHistoryToken())
      try store.registerHistoryReader("app", at: store.currentHistoryToken())
      try store.insert("Item")
      try store.insert("Item")
      store.close()
    }
    let store = try PersistentStore.open(url: url)
    let token = try JSONDecoder().decode(PersistentHistoryToken.self, from: bytes)
    #expect(try store.fetchHistory(.fetchHistory(after: token)).map(\.transactionNumber) == [2, 3])
    #expect(try store.historyReaders().map(\.transactionNumber) == [1])
    #expect(try store.deleteHistory(before: Date.distantFuture) == 1)
    try store.registerHistoryReader("app", at: store.currentHistoryToken())
    #expect(try store.deleteHistory(before: Date.distantFuture) == 2)
  }

  @Test("A transaction of the history merges into a context: changed objects are read anew")
  func merging() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Shop.model())
    let store = try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    let item = try context.insert(entityNamed: "Item")
    let doomed = try context.insert(entityNamed: "Item")
    item["name"] = "before"
    try context.save()
    let token = try store.currentHistoryToken()
    try store.update(item.objectID.key, "name", .string("after"))
    _ = try store.write(TransactionInfo()) {
      try $0.delete(doomed.objectID.key, expectedVersion: nil)
    }
    #expect(item["name"] as? String == "before")
    for transaction in try context.execute(.fetchHistory(after: token)).transactions ?? [] {
      context.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
    }
    #expect(item["name"] as? String == "after")
    #expect(doomed.isDeleted)
  }
}
