import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// A program without the engine migrates what sync left pending.
struct PendingNamesTests {
  @Test("Two properties that change their names with each other take what is pending along")
  func swapped() throws {
    let store = try PersistentStore.open(url: nil, model: Shop.model())
    let state =
      #"{"edits":[{"properties":["a","gone"],"transaction":1}],"heldBack":["b","gone"],"offers":[{"properties":["b"],"transaction":2},{"properties":["gone"],"transaction":3}],"whole":"none","wholeTransaction":0}"#
    _ = try store.write(TransactionInfo()) { transaction in
      let connection = transaction.connection
      try connection.execute(
        "CREATE TABLE ZDL_PENDING(entity INTEGER, key INTEGER, transaction_number INTEGER, state BLOB)"
      )
      try connection.run(
        "INSERT INTO ZDL_PENDING VALUES (1, 7, 3, ?)", .blob(Data(state.utf8)))
      try EngineRows.renamePending(
        ["a": "b", "b": "a", "gone": ""], ofEntity: 1, on: connection)
      let row = try connection.rows("SELECT state FROM ZDL_PENDING")[0][0]
      guard case .blob(let bytes) = row else {
        Issue.record("no state")
        return
      }
      #expect(
        String(decoding: bytes, as: UTF8.self)
          == #"{"edits":[{"properties":["b"],"transaction":1}],"heldBack":["a"],"offers":[{"properties":["a"],"transaction":2}],"whole":"none","wholeTransaction":0}"#
      )
    }
  }
}
