import Driftless
import Foundation

/// What is done with a file that may not be there yet, or not for this process.
enum FirstLook: String {
  /// Waits for a line; then opens the store, makes it where it is missing, inserts an object, and prints whose the store is.
  case create
  /// Opens the store for reading, as a user without rights, and prints how many objects it has, or the error.
  case look

  func run(_ arguments: [String]) -> Never {
    let url = URL(fileURLWithPath: arguments[2])
    do {
      switch self {
      case .create:
        if arguments.count == 5, let fault = WriteFault.Kind(rawValue: arguments[3]),
          let number = Int(arguments[4])
        {
          WriteFault.arm(fault, at: number)
        }
        print("ready")
        fflush(nil)
        _ = readLine()
        print(try Self.create(url))
      case .look:
        // 65534 is nobody, on every Linux.
        if getuid() == 0, setuid(65534) != 0 { quick_exit(77) }
        let store = try PersistentStore.open(
          url: url, options: StoreOptions(isReadOnly: true, createsFile: false))
        print(try store.check().objectCount)
      }
    } catch let error as StoreError {
      print(error.code)
      print(error.message)
    } catch {
      print(error)
    }
    fflush(nil)
    quick_exit(0)
  }

  private static func create(_ url: URL) throws -> String {
    let item = EntityDescription("Item")
    item.properties = [AttributeDescription("name", .string)]
    let model = ManagedObjectModel(entities: [item])
    let store = try PersistentStore.open(url: url, model: model)
    _ = try store.write(TransactionInfo(author: "probe")) { transaction in
      let key = try transaction.allocateKeys(item, count: 1).lowerBound
      try transaction.insert(item, key, values: [.string("\(getpid())")])
    }
    store.close()
    return store.identifier
  }
}
