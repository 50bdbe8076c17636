#if PostgreSQL
  /// What PostgreSQL, or the way to it, failed at.
  struct PostgresError: Error, Sendable, CustomStringConvertible {
    enum Kind: Sendable {
      /// The database refused a statement; the connection is well.
      case statement
      /// No connection could be made.
      case unreachable
      /// The connection was lost, or given up, before the transaction's end was asked for: nothing of it stays.
      case lost
      /// The database did not say what became of a transaction: it may be stored, or not.
      case unknownOutcome
    }

    let kind: Kind
    /// Five characters, as the database said them; empty where it said none.
    let sqlState: String
    let message: String

    init(_ kind: Kind, sqlState: String = "", message: String) {
      self.kind = kind
      self.sqlState = sqlState
      self.message = message
    }

    var description: String {
      sqlState.isEmpty ? "PostgreSQL: \(message)" : "PostgreSQL \(sqlState): \(message)"
    }

    /// Another transaction was in the way: the same one passes later. Serialization failure, deadlock, lock not available.
    var isContention: Bool {
      kind == .statement && ["40001", "40P01", "55P03"].contains(sqlState)
    }

    /// The disk of the database is full.
    var isFull: Bool { sqlState == "53100" }

    /// The database ends, begins, has no connection left, takes no writes, or gave up waiting: what passes by itself.
    var isAway: Bool {
      kind != .statement || isContention
        || ["57P01", "57P02", "57P03", "57014", "53300", "53200", "25006", "25P03"]
          .contains(sqlState)
        || sqlState.hasPrefix("08")
    }

    /// The database ends this connection.
    var endsConnection: Bool {
      ["57P01", "57P02", "57P03", "25P03"].contains(sqlState) || sqlState.hasPrefix("08")
    }
  }

  extension ServerError {
    /// What a client is told of an error of PostgreSQL.
    init(_ error: PostgresError) {
      if error.isFull {
        self.init(
          .diskFull, "the disk of the server's database is full; nothing of the push was stored",
          suggestion: "Nothing is lost here: tell the operator, and push again when there is room.")
      } else if error.sqlState == "25006" {
        self = .busy(
          "the server's database takes no writes: it is a standby, or is set to be read only")
      } else if error.kind == .unknownOutcome {
        self = .busy("the server's database did not say whether it stored the push")
      } else if error.isAway {
        self = .busy("the server's database is away or busy")
      } else {
        self.init(
          .storage, "the server could not store or read its data",
          suggestion: "Try again later; the operator finds the reason in the server's log.")
      }
      reason = "\(error)"
    }
  }
#endif
