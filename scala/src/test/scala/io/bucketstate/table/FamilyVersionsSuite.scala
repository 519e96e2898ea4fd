package io.bucketstate.table

import scala.collection.immutable.TreeMap
import scala.util.Random

import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  FamilyDescriptor,
  FamilySpec,
  RecordBuffer,
  Scans
}
import io.bucketstate.testkit.TidySuite

/** Families that come and go over random histories, held against a map of maps for each version. */
class FamilyVersionsSuite extends TidySuite {

  /** By number of the family: its name, and its keys with their values. */
  private type Model = TreeMap[Int, (String, Map[Int, Int])]

  private val assigner = new BucketAssigner(3)
  private val buffer = new RecordBuffer(assigner)

  private def spec(id: Int, name: String) =
    FamilySpec(FamilyDescriptor(id, name, "k", "v"), BucketKey.Whole, Scans.Nothing)

  private def put(family: FamilyState, key: Int, value: Int): Unit = {
    buffer.key(Array(key.toByte), BucketKey.Whole)
    buffer.valueSpace(1)(buffer.keyEnd) = value.toByte
    buffer.valueDone(buffer.keyEnd + 1)
    family.put(buffer)
  }

  private def remove(family: FamilyState, key: Int): Unit = {
    buffer.key(Array(key.toByte), BucketKey.Whole)
    family.remove(buffer)
  }

  private def found(table: VersionedTable, version: Long): Model = TreeMap.from(
    table.familiesAt(version).map { family =>
      val all = family.records(version).map(r => r(1).toInt -> r(2).toInt).toMap
      family.spec.id -> (family.spec.name -> all)
    }
  )

  for (seed <- 1 to 30) test(s"each version has its families and their keys, seed $seed") {
    val random = new Random(seed.toLong)
    val table = new VersionedTable(assigner, base = 5)
    table.family(spec(0, "default"))
    var models = TreeMap[Long, (Model, Int)](5L -> ((TreeMap(0 -> ("default" -> Map())), 1)))
    for (_ <- 1 to 50) {
      val newest = models.lastKey
      val kept = math.max(models.firstKey, newest - random.nextInt(4))
      table.begin(kept)
      models = models.rangeFrom(kept)
      var (model, next) = models(newest)
      for (_ <- 1 to random.nextInt(25)) {
        val families = table.families
        val family = families(random.nextInt(families.size))
        val (id, key) = (family.spec.id, random.nextInt(8))
        val (name, pairs) = model(id)
        random.nextInt(10) match {
          case 0 =>
            assert(table.nextFamily == next, "a number is never given out twice")
            val made = s"f${random.nextInt(3)}"
            if (!model.valuesIterator.exists(_._1 == made)) {
              table.family(spec(next, made))
              model += next -> (made -> Map.empty[Int, Int])
              next += 1
            }
          case 1 if id != 0 =>
            table.removeFamily(id)
            model -= id
          case 2 | 3 =>
            remove(family, key)
            model += id -> (name -> (pairs - key))
          case _ =>
            val value = random.nextInt(100)
            put(family, key, value)
            model += id -> (name -> (pairs + (key -> value)))
        }
      }
      assert(found(table, newest + 1) == model)
      models.foreach { case (version, (old, _)) => assert(found(table, version) == old) }
      if (random.nextInt(4) == 0) table.abort()
      else {
        val changes = table.openChanges
        assert(changes.families.map(_.descriptor.id) == model.keys.toSeq)
        assert(changes.families.flatMap(_.keyCount) == model.values.map(_._2.size.toLong).toSeq)
        assert(changes.nextFamily == next)
        table.commit()
        models += newest + 1 -> ((model, next))
      }
      if (random.nextInt(4) == 0) {
        val back = models.keys.toSeq(random.nextInt(models.size))
        table.rollBackTo(back)
        models = models.rangeTo(back)
      }
      models.foreach { case (version, (old, _)) => assert(found(table, version) == old) }
      assert(table.nextFamily == models.last._2._2)
    }
  }

  test("a number that was given out cannot be taken again") {
    val table = new VersionedTable(assigner, base = 0)
    table.family(spec(0, "default"))
    table.begin(0)
    table.family(spec(1, "a"))
    table.removeFamily(1)
    assertThrows[IllegalArgumentException](table.family(spec(1, "b")))
  }
}
