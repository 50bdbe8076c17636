import CoreData

/// Reads what others did to the store since the last time, and keeps the place in a file.
final class HistoryReader {
  private let container: NSPersistentContainer
  private let file: URL

  init(container: NSPersistentContainer, file: URL) {
    self.container = container
    self.file = file
  }

  private var token: NSPersistentHistoryToken? {
    get {
      guard let data = try? Data(contentsOf: file) else { return nil }
      return try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data)
    }
    set {
      guard let newValue,
        let data = try? NSKeyedArchiver.archivedData(withRootObject: newValue, requiringSecureCoding: true)
      else { return }
      try? data.write(to: file)
    }
  }

  /// The authors of new transactions, with how many objects each changed.
  func read() throws -> [String] {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let transactions = result?.result as? [NSPersistentHistoryTransaction] ?? []
      if let last = transactions.last { token = last.token }
      return transactions.map { "\($0.author ?? "-"): \($0.changes?.count ?? 0)" }
    }
  }
}
