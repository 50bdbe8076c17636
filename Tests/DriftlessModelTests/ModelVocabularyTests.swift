import Foundation
import Testing

@testable import Driftless

/// The words of a model file: each comes back from a model that was read and written.
struct ModelVocabularyTests {
  private static let everyWord = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" name=""
        lastSavedToolsVersion="21754" systemVersion="23E224" minimumToolsVersion="Xcode 11.0"
        sourceLanguage="Swift" userDefinedModelVersionIdentifier="v7" macOSVersion="Automatic"
        iOSVersion="Automatic" usedWithCloudKit="true" usedWithSwiftData="YES">
      <entity name="Base" isAbstract="YES" syncable="YES"/>
      <entity name="Trip" representedClassName=".Trip" parentEntity="Base" syncable="YES"
          codeGenerationType="class" elementID="Journey" versionHashModifier="2"
          coreSpotlightDisplayNameExpression="title">
        <attribute name="title" attributeType="String" defaultValueString="" minValueString="1"
          maxValueString="80" regularExpressionString="[A-Z].*" spotlightIndexingEnabled="YES"
          storedInTruthFile="YES" syncable="YES" preserveAfterDeletion="YES"
          allowsCloudEncryption="YES" elementID="name" versionHashModifier="3"/>
        <attribute name="small" optional="YES" attributeType="Integer 16" defaultValueString="0.0"
          usesScalarValueType="YES"/>
        <attribute name="middle" optional="YES" attributeType="Integer 32" defaultValueString="+7"
          minValueString="-11" maxValueString="11" usesScalarValueType="NO" indexed="YES"/>
        <attribute name="large" optional="YES" attributeType="Integer 64"/>
        <attribute name="price" optional="YES" attributeType="Decimal" defaultValueString="0.00"/>
        <attribute name="exact" optional="YES" attributeType="Double" defaultValueString="1"/>
        <attribute name="rough" optional="YES" attributeType="Float" minValueString="-2.5"/>
        <attribute name="isDone" optional="YES" attributeType="Boolean" defaultValueString="NO"/>
        <attribute name="day" optional="YES" attributeType="Date" minDateTimeInterval="284000400"
          minValueString="2010-01-01 01:00:00" maxDateTimeInterval="602395200"
          maxValueString="2020-02-03 04:00" defaultDateTimeInterval="388411200"
          defaultValueString="2013-04-23 12:00:00 +0000"/>
        <attribute name="image" optional="YES" attributeType="Binary"
          allowsExternalBinaryDataStorage="YES"/>
        <attribute name="id" optional="YES" attributeType="UUID"
          defaultValueString="0F0E0D0C-0B0A-0908-0706-050403020100"/>
        <attribute name="page" optional="YES" attributeType="URI"
          defaultValueString="https://example.org"/>
        <attribute name="tint" optional="YES" attributeType="Transformable"
          valueTransformerName="ColorTransformer" customClassName=".UIColor"/>
        <attribute name="scratch" optional="YES" transient="YES"/>
        <attribute name="stops" optional="YES" attributeType="Integer 64" derived="YES"
          derivationExpression="legs.@count"/>
        <attribute name="start" optional="YES" attributeType="Composite" composite="Place"/>
        <relationship name="legs" optional="YES" toMany="YES" minCount="1" maxCount="10"
          deletionRule="Cascade" ordered="YES" destinationEntity="Leg" inverseName="trip"
          inverseEntity="Leg" syncable="YES" elementID="parts" indexed="YES"/>
        <relationship name="other" optional="YES" transient="YES" maxCount="1"
          deletionRule="No Action" destinationEntity="Trip"/>
        <fetchedProperty name="recent" optional="YES" syncable="YES">
          <fetchRequest name="fetchedPropertyFetchRequest" entity="Trip"
            predicateString="$FETCH_SOURCE.title == title" fetchLimit="5"/>
        </fetchedProperty>
        <fetchIndex name="byDay" partialIndexPredicate="day != nil">
          <fetchIndexElement property="day" type="Binary" order="descending"/>
          <fetchIndexElement expression="uppercase:(title)" expressionType="String" type="Binary"
            order="ascending"/>
        </fetchIndex>
        <fetchIndex name="byPrice">
          <fetchIndexElement property="exact" type="RTree" order="ascending"/>
        </fetchIndex>
        <uniquenessConstraints>
          <uniquenessConstraint><constraint value="title"/><constraint value="day"/>
          </uniquenessConstraint>
          <uniquenessConstraint><constraint value="id"/></uniquenessConstraint>
        </uniquenessConstraints>
        <compoundIndexes>
          <compoundIndex><index value="small"/><index value="large"/></compoundIndex>
          <compoundIndex><index value="day"/></compoundIndex>
        </compoundIndexes>
        <userInfo><entry key="driftless.conflictPolicy" value="max"/><entry key="k" value="&lt;"/>
        </userInfo>
      </entity>
      <entity name="Leg" codeGenerationType="category">
        <relationship name="trip" optional="YES" maxCount="1" deletionRule="Deny"
          destinationEntity="Trip" inverseName="legs" inverseEntity="Trip">
          <userInfo><entry key="note" value="x"/></userInfo>
        </relationship>
      </entity>
      <composite name="Place">
        <attribute name="lat" attributeType="Double" usesScalarValueType="YES"/>
        <attribute name="city" optional="YES" attributeType="Composite" composite="City"/>
      </composite>
      <composite name="City"><attribute name="code" optional="YES" attributeType="String"/>
      </composite>
      <fetchRequest name="all" entity="Trip" predicateString="title == $T" fetchLimit="100"
        fetchBatchSize="10" resultType="2" includeSubentities="YES" includePropertyValues="YES"
        returnObjectsAsFaults="YES" includesPendingChanges="YES" returnDistinctResults="YES"/>
      <configuration name="Cloud" usedWithCloudKit="YES"><memberEntity name="Trip"/>
        <memberEntity name="Leg"/></configuration>
      <configuration name="Local"><memberEntity name="Base"/></configuration>
    </model>
    """

  /// Each element with its attributes and the names of those around it, sorted.
  static func lines(of element: ModelElement, _ path: String = "") -> [String] {
    let line = "\(path)/\(element.name)\(element.attributes.sorted { $0.key < $1.key })"
    let place = "\(path)/\(element.name).\(element.attributes["name"] ?? "")"
    return ([line] + element.children.flatMap { lines(of: $0, place) }).sorted()
  }

  @Test("A file with every word that editors write comes back word for word")
  func everyWord() throws {
    let data = Data(Self.everyWord.utf8)
    let model = try ManagedObjectModel(xml: data)
    let written = try ModelDocument.xml(of: model)
    let before = Self.lines(of: try ModelElement.parse(data, from: "the file"))
    let after = Self.lines(of: try ModelElement.parse(written, from: "ours"))
    #expect(Set(before).subtracting(after) == [], "lost")
    #expect(Set(after).subtracting(before) == [], "added")
    #expect(before == after)
    try model.freeze()
    #expect(model.isUsedWithCloudKit() && model.isUsedWithCloudKit(configuration: "Cloud"))
    // Through the store's form of a model, too.
    let carried = try ModelArchive.decode(ModelArchive.encode(model))
    #expect(try ModelDocument.xml(of: carried) == written)
  }

  @Test("A value that changes is written anew, not as the file spelled the old one")
  func changedValues() throws {
    let model = try ManagedObjectModel(xml: Data(Self.everyWord.utf8))
    let trip = try #require(model.entitiesByName["Trip"])
    trip.attributesByName["small"]?.defaultValue = .integer(4)
    trip.attributesByName["day"]?.defaultValue = .date(Date(timeIntervalSinceReferenceDate: 5))
    trip.attributesByName["middle"]?.minimum = nil
    trip.attributesByName["title"]?.defaultValue = .null
    let again = try ManagedObjectModel(xml: ModelDocument.xml(of: model))
    let read = try #require(again.entitiesByName["Trip"]).attributesByName
    #expect(read["small"]?.defaultValue == .integer(4))
    #expect(read["day"]?.defaultValue == .date(Date(timeIntervalSinceReferenceDate: 5)))
    #expect(read["middle"]?.minimum == nil && read["middle"]?.maximum == .integer(11))
    #expect(read["title"]?.defaultValue == .null)
    #expect(again == model)
  }

  @Test("Other spellings of hand-written files are understood")
  func otherSpellings() throws {
    let model = try ManagedObjectModel(
      xml: Data(
        """
        <model><entity name="A" renamingIdentifier="Old">
        <attribute name="x" attributeType="Boolean" defaultValueString="TRUE"/>
        <attribute name="y" attributeType="String" optional="true"/>
        <relationship name="many" toMany="YES" destinationEntity="A"/>
        </entity><elements><element name="A" width="1"/></elements></model>
        """.utf8))
    let entity = model.entities[0]
    #expect(!entity.isAbstract && entity.renamingIdentifier == "Old")
    #expect(entity.attributesByName["x"]?.defaultValue == .bool(true))
    #expect(entity.attributesByName["y"]?.defaultValue == .null)
    #expect(entity.attributesByName["y"]?.isOptional == true)
    #expect(entity.relationshipsByName["many"]?.isToMany == true)
  }
}
