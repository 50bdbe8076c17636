#if PostgreSQL
  package import Foundation

  extension PostgresAdministration: OperatedStorage {
    package func takeValues(
      from file: URL, zone name: String?, isDryRun: Bool
    ) throws -> [TakenValues] {
      let source = try ValueFile(file)
      defer { source.close() }
      let now = try serverMilliseconds()
      let zones = try zones(named: name, of: source).map { PostgresValueTables(connection, $0) }
      if isDryRun { return try told { try zones.map { try source.lacked(by: $0) } } }
      do {
        return try zones.map { tables in
          let rescue = ValueRescue(tables: tables, milliseconds: now) { try retrying($0) }
          return try source.take(into: rescue)
        }
      } catch let error as PostgresError {
        throw ServerError(
          error.isFull ? .diskFull : error.isAway ? .busy : .storage,
          "the database refused: \(error.message); what was taken by then stays",
          suggestion: "Check the database, then say the command again: it goes on where it was.")
      }
    }
  }
#endif
