import Driftless
import DriftlessSQLite
import Foundation
import Testing

@Suite("Compiled SQL")
struct QueryTextTests {
  @Test("Values are bound, names quoted, nothing else gets in")
  func binding() throws {
    let library = try Library()
    let nasty = "x'; DROP TABLE ZBOOK; --"
    for format in [
      "title == %@", "title CONTAINS[cd] %@", "title LIKE %@", "title BEGINSWITH %@",
      "title IN {%@, 'b'}", "ANY tags.name == %@", "SUBQUERY(tags, $t, $t.name == %@).@count > 0",
    ] {
      let query = try library.compile(FetchPredicate(format: format, nasty))
      #expect(!query.sql.contains("DROP"))
      #expect(!query.sql.contains("'"))
      #expect(query.sql.filter { $0 == "?" }.count == query.bindings.count)
      #expect(query.bindings.contains(.text(nasty)))
      _ = try library.rows(query)
    }
  }

  @Test("An attribute compares in a form that an index can answer")
  func indexable() throws {
    let library = try Library()
    let query = try library.compile(FetchPredicate(format: "title BEGINSWITH 'ab' AND pages > 3"))
    #expect(
      query.sql
        == #"SELECT "t0"."Z_PK", "t0"."Z_ENT" FROM "ZBOOK" "t0" WHERE "#
        + #"(("t0"."ZTITLE" >= ? AND "t0"."ZTITLE" < ?) AND "t0"."ZPAGES" > ?)"#)
    #expect(query.bindings == [.text("ab"), .text("ac"), .integer(3)])
  }

  @Test("A to-one path is joined once, however often it is named")
  func joins() throws {
    let library = try Library()
    let predicate = try FetchPredicate(format: "author.name == 'a' OR author.born > 3")
    let query = try library.compile(predicate, sort: [FetchSort("author.name")])
    #expect(query.sql.components(separatedBy: "LEFT JOIN").count == 2)
  }

  @Test("Rows carry the columns of the hierarchy, in the table's order")
  func rows() throws {
    let library = try Library()
    let query = try library.compile(nil, selection: .rows)
    let columns = library.store.schema.table(for: try library.entity("Book")).columns
    for row in try library.rows(query) { #expect(row.count == 3 + columns.count) }
    #expect(try library.rows(query).count == library.books.count)
  }

  @Test("Count gives one number, with a limit too")
  func count() throws {
    let library = try Library()
    let all = try library.rows(library.compile(nil, selection: .count))
    #expect(all == [[.integer(Int64(library.books.count))]])
    let some = try library.rows(library.compile(nil, limit: 4, offset: 8, selection: .count))
    #expect(some == [[.integer(2)]])
  }

  @Test("Entities are told apart inside their hierarchy's table")
  func entityScope() throws {
    let library = try Library()
    #expect(try library.rows(library.compile(nil, entity: "Comic")).isEmpty)
    #expect(
      try library.rows(library.compile(nil, includesSubentities: false)).count
        == library.books.count)
    #expect(!(try library.compile(nil).sql.contains("WHERE")))
  }
}
