import Foundation
import Testing

@testable import Driftless

/// Memory of values, through its handles.
struct ValueMemoryTests {
  @Test("A row lends what is in it, and knows how much that is")
  func rows() {
    let values: [PropertyValue] = [.integer(1), .string("two"), .null]
    values.withRow { row in
      #expect(row.count == 3 && row[1] == .string("two") && row.array == values)
    }
    let count = [PropertyValue]().withRow { $0.count }
    #expect(count == 0)
    var other = [PropertyValue](repeating: .null, count: 2)
    other.withRoom { room in
      room.overwriteNull(0, with: .string("one"))
      room[1] = .integer(2)
      #expect(room[0] == .string("one"))
    }
    #expect(other == [.string("one"), .integer(2)])
  }

  @Test("Rooms of a pool are other objects' once they are given back, beyond one slab too")
  func pool() {
    let pool = ValuePool(size: 3, Departures())
    var rooms = (0..<200).map { _ in pool.take() }
    for (number, room) in rooms.enumerated() {
      room.fill(from: [.integer(Int64(number)), .string("\(number)"), .null])
    }
    for (number, room) in rooms.enumerated() {
      #expect(room.row(3).array == [.integer(Int64(number)), .string("\(number)"), .null])
    }
    for room in rooms[50..<150] {
      room.empty(3)
      pool.give(room)
    }
    for place in 50..<150 {
      rooms[place] = pool.take()
      rooms[place].fill(from: rooms[0], 3)
    }
    #expect(rooms[149][1] == .string("0") && rooms[150][1] == .string("150"))
    for room in rooms {
      room.empty(3)
      pool.give(room)
    }
    #expect(pool.isUnused)
    let (own, next) = (ValueRoom.allocate(2), ValueRoom.allocate(2))
    own.fillWithNull(2)
    own[1] = .string("own")
    next.take(from: own, 2)
    #expect(next[0].isNull && next[1] == .string("own"))
    next.empty(2)
    own.deallocate()
    next.deallocate()
  }

  @Test("A table is filled a column at a time, read a row at a time, and cleared")
  func table() {
    let table = ValueTable(rows: 3, slots: 2)
    table.withColumn(1) { column in
      for row in 0..<3 { column[row] = .string("row \(row)") }
      #expect(column[2] == .string("row 2"))
    }
    #expect(table.row(1).array == [.null, .string("row 1")])
    table.clear(rows: 2)
    #expect(table.row(0)[1].isNull && table.row(2)[1] == .string("row 2"))
    var one = PropertyValue.null
    ValueColumn.ofOne(&one) { $0[0] = .integer(7) }
    #expect(one == .integer(7))
    let sum = [1, 2, 3].lend { list in (0..<list.count).reduce(0) { $0 + list[$1] } }
    #expect(sum == 6)
    #expect(ValueTable(rows: 0, slots: 0).rowCount == 0)
  }

  @Test("A slot or a row of another table ends the process")
  func beyondTables() async {
    await #expect(processExitsWith: .failure) {
      ValueTable(rows: 2, slots: 2).withColumn(2) { $0[0] = .null }
    }
    await #expect(processExitsWith: .failure) { _ = ValueTable(rows: 2, slots: 2).row(2) }
    await #expect(processExitsWith: .failure) { ValueTable(rows: 2, slots: 2).clear(rows: 3) }
  }

  @Test("A slot beyond a row ends the process, and nothing of others is read")
  func beyond() async {
    await #expect(processExitsWith: .failure) {
      [PropertyValue.null].withRow { _ = $0[1] }
    }
    await #expect(processExitsWith: .failure) {
      [PropertyValue.null].withRow { _ = $0[-1] }
    }
  }

  #if DEBUG
    @Test("A debug build looks at each slot of an object, and at each count")
    func looksInDebugBuilds() async {
      await #expect(processExitsWith: .failure) {
        var values = [PropertyValue.null]
        values.withRoom { $0[1] = .null }
      }
      await #expect(processExitsWith: .failure) {
        ValueTable(rows: 2, slots: 2).withColumn(0) { $0[2] = .null }
      }
      await #expect(processExitsWith: .failure) {
        let room = ValueRoom.allocate(2)
        room.fillWithNull(3)
      }
    }
  #endif
}
