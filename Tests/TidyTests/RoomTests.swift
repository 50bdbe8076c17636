import Foundation
import Testing

/// The embedded library is one module: nothing but this keeps its rooms apart. `Scripts/rooms` has the compiler look as well,
/// which also sees members that a later room adds to a type of an earlier one.
struct RoomTests {
  private static let files = Rooms.files(in: Pages.root)
  private static let rooms = Rooms(order: Rooms.order, files: files)

  @Test("Every file of the library is in one of its rooms")
  func filesAreInRooms() {
    #expect(Self.files.count > 200)
    for path in Self.files.keys {
      #expect(Rooms.order.contains(String(path.prefix { $0 != "/" })), "\(path) is in no room")
    }
  }

  @Test("No room mentions a type of a room that comes after it")
  func arrowsPointDown() {
    for arrow in Self.rooms.arrowsUp {
      Issue.record(
        "\(arrow.file) mentions \(arrow.type) of \(arrow.other), which comes after \(arrow.room)")
    }
  }

  @Test("The page Architecture.md shows the rooms as they are")
  func pictureIsTrue() throws {
    let text = try Pages.text("Architecture.md")
    let picture = Self.rooms.picture
    #expect(text.contains("```text\n\(picture)\n```"), "It is to have, in a fence:\n\(picture)")
    for room in Rooms.order {
      #expect(text.contains("| **\(room)** |"), "It does not say what \(room) is")
    }
  }

  // MARK: The reader

  @Test("A mention of a later room's type is an arrow up")
  func arrowUpIsFound() {
    let rooms = Rooms(
      order: ["Low", "High"],
      files: [
        "Low/Stone.swift": "struct Stone { let bird: Bird? }",
        "High/Bird.swift": "final class Bird { let stones: [Stone] = [] }",
      ])
    #expect(
      rooms.arrowsUp == [
        Rooms.Mention(file: "Low/Stone.swift", type: "Bird", room: "Low", other: "High")
      ])
    #expect(rooms.picture == "      Low\nLow\nHigh  ●")
  }

  @Test("Comments, texts, members and types inside of others are no mention of a type")
  func onlyNamesOfTypesAreMentions() {
    let rooms = Rooms(
      order: ["Low", "High"],
      files: [
        "Low/Stone.swift": ##"""
        /// A ``Bird`` may sit on it. /* Bird */
        struct Stone {
          /* Bird /* Bird */ Bird */
          enum Wing { case left }
          let wings: [Wing] = [.left]
          let song = Stone.Bird
          let text = "Bird \("Bird" + #"\(Bird) "Bird" "#)"
        }
        """##,
        "High/Bird.swift": "struct Bird {}\nstruct Wing {}",
      ])
    #expect(rooms.arrowsUp.isEmpty)
  }

  @Test("Code inside of a text is code")
  func interpolationIsCode() {
    let words = SwiftWords(
      """
      let a = "x \\(Bird(name: "y").song) z", b = #"\\(Stone) \\#(Nest.self)"#
      """
    ).words
    #expect(words.map(\.text) == ["let", "a", "Bird", "name", "song", "b", "Nest", "self"])
    #expect(words.filter(\.isMember).map(\.text) == ["song", "self"])
  }
}
