package io.bucketstate.testkit

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.concurrent.{Callable, Executors}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.bucketstate.record.{BucketAssigner, ColdState, KeyRange, RecordBuffer, RecordOp}
import io.bucketstate.testkit.TidySuite

/**
 * What every `ColdState` guarantees, by the numbers of its contract.
 *
 * @param familyCount how many families it can have, from 0 on
 * @param appends     whether values can be appended to what their keys have
 */
abstract class ColdStateContract(numBuckets: Int, familyCount: Int = 3, appends: Boolean = true)
    extends TidySuite {
  private type Model = Map[String, String]

  private val assigner = new BucketAssigner(numBuckets)
  private val families = 0 until familyCount

  /** An empty one, too. */
  private val keys = "" +: (0 until 60).map(n => s"key-$n")

  /**
   * The state that a history of changes leads to, written as [[SnapshotRoom]] has them; None removes a key. Version n is
   * the state after n changes.
   */
  def withCold(history: Seq[Map[String, Option[String]]])(body: ColdState => Unit): Unit

  private def random(seed: Int): Seq[Map[String, Option[String]]] = {
    val random = new Random(seed.toLong)
    def value() = random.nextInt(6) match {
      case 0 | 1        => None
      case 2 if appends => Some("+" + "a" * (1 + random.nextInt(20)))
      case _            => Some("v" * random.nextInt(50))
    }
    Seq.fill(1 + random.nextInt(8)) {
      Seq
        .fill(1 + random.nextInt(40 * familyCount)) {
          nameOf(random.nextInt(familyCount), keys(random.nextInt(keys.size))) -> value()
        }
        .toMap
    }
  }

  private def nameOf(family: Int, key: String): String = if (family == 0) key else s"$family/$key"

  /** What a family has after a history. */
  private def modelOf(history: Seq[Map[String, Option[String]]], family: Int): Model =
    history.foldLeft(Map.empty: Model)(SnapshotRoom.after(_, _)).collect {
      case (name, value) if SnapshotRoom.placeOf(name)._1 == family =>
        SnapshotRoom.placeOf(name)._2 -> value
    }

  private def buffer(key: String): RecordBuffer = TextRecords.key(key, assigner)

  private def found(cold: ColdState, family: Int): Model =
    keys.flatMap { key =>
      Option(cold.find(family, buffer(key))).map { record =>
        assert(buffer(key).sameKey(record))
        assert(cold.mayHold(family, buffer(key)), "8")
        key -> TextRecords.valueOf(record)
      }
    }.toMap

  private def scanned(cold: ColdState, family: Int): Model =
    (0 until numBuckets)
      .map { bucket =>
        val content = mutable.Map.empty[String, String]
        cold.scan(
          family,
          bucket,
          (record, op) => {
            val (key, value) = (TextRecords.keyOf(record), TextRecords.valueOf(record))
            assert(buffer(key).bucket == bucket, "2")
            op match {
              case RecordOp.Put    => content(key) = value
              case RecordOp.Remove => content -= key
              case _               => content(key) = content.getOrElse(key, "") + value
            }
          }
        )
        content.toMap
      }
      .fold(Map.empty: Model)(_ ++ _)

  /** What is handed out between two keys, from `from` on so many at a time until there are none. */
  private def ranged(
      cold: ColdState,
      family: Int,
      bucket: Int,
      keys: KeyRange,
      together: Int
  ): Seq[(String, String)] = {
    val found = mutable.ArrayBuffer.empty[Array[Byte]]
    cold.range(family, bucket, keys, together) { record => found += record; () }
    assert(found.size <= together, "4")
    val all = found.toSeq.map(r => TextRecords.keyOf(r) -> TextRecords.valueOf(r))
    if (found.size < together) all
    else all ++ ranged(cold, family, bucket, keys.behind(found.last), together)
  }

  for (seed <- 1 to 8)
    test(s"4: ranges are what look-ups find between two keys, in order, seed $seed") {
      val history = random(seed)
      val picked = new Random(seed.toLong)
      def bound() =
        Option.when(picked.nextInt(3) > 0)(keys(picked.nextInt(keys.size)).getBytes).orNull
      withCold(history) { cold =>
        val models = families.map(modelOf(history, _))
        for {
          _ <- 1 to 20
          family <- families
          bucket <- 0 until numBuckets
        } {
          val between = new KeyRange(bound(), bound())
          val wanted = models(family).filter { case (key, value) =>
            buffer(key).bucket == bucket &&
            between.holds(TextRecords.record(key, value, assigner).toRecord)
          }
          val together = 1 + picked.nextInt(20)
          assert(ranged(cold, family, bucket, between, together) == wanted.toSeq.sorted)
          assert(ranged(cold, 7, bucket, between, together).isEmpty)
        }
      }
    }

  for (seed <- 1 to 8)
    test(s"1 to 3 and 5: look-ups, scans and counts are of one state and stay so, seed $seed") {
      val history = random(seed)
      withCold(history) { cold =>
        val models = families.map(modelOf(history, _))
        assert(cold.version == history.size)
        for {
          _ <- 1 to 2
          family <- families
        } {
          assert(found(cold, family) == models(family))
          assert(scanned(cold, family) == models(family))
          assert(cold.keyCount(family) == Some(models(family).size))
        }
      }
    }

  test("1 to 5: large values and those of an empty key are the same however they are asked for") {
    def large(n: Int) = {
      val bytes = new Array[Byte](1 << 20)
      new Random(n.toLong).nextBytes(bytes)
      new String(bytes.map(byte => (48 + (byte & 63)).toByte), US_ASCII)
    }
    val more = if (appends) "+" else ""
    val changes = Seq(
      Map("" -> large(1), "key-1" -> large(2), "key-2" -> "short", "key-3" -> "first"),
      Map("" -> s"${more}more", "key-1" -> s"$more${large(3)}", "key-2" -> large(4)),
      Map("key-2" -> s"${more}more", "key-3" -> s"$more${large(5)}")
    )
    val some = Seq(0, familyCount - 1).distinct
    val history =
      for (one <- changes)
        yield
          for {
            (key, value) <- one
            family <- some
          } yield nameOf(family, key) -> Option(value)
    // What is told of a failure stays short.
    def brief(model: Iterable[(String, String)]) =
      model.map { case (key, value) => (key, value.length, value.hashCode) }.toSeq.sorted
    withCold(history) { cold =>
      for (family <- some) {
        val wanted = brief(modelOf(history, family))
        def inRanges = (0 until numBuckets).flatMap { bucket =>
          ranged(cold, family, bucket, new KeyRange(null, null), together = 2)
        }
        for (_ <- 1 to 2) {
          assert(brief(found(cold, family)) == wanted)
          assert(brief(inRanges) == wanted)
          assert(brief(scanned(cold, family)) == wanted)
        }
        assert(cold.keyCount(family) == Some(wanted.size))
      }
    }
  }

  test("2, 3 and 5: a family that it does not know has no keys") {
    withCold(random(1)) { cold =>
      assert(found(cold, 7).isEmpty && scanned(cold, 7).isEmpty && cold.keyCount(7) == Some(0))
    }
  }

  test(
    "8: most keys that never were are not taken for one that is there, before or after a look-up"
  ) {
    withCold(random(3)) { cold =>
      for {
        family <- families
        _ <- 1 to 2
      } {
        val taken = (0 until 300).count(n => cold.mayHold(family, buffer(s"never $n")))
        assert(taken < 150)
        (0 until 20).foreach(n => assert(cold.find(family, buffer(s"never $n")) == null))
      }
      assert(!cold.mayHold(7, buffer("never")))
    }
  }

  test("6: several threads ask at a time") {
    val history = random(2)
    withCold(history) { cold =>
      val pool = Executors.newFixedThreadPool(4)
      try {
        val asks = (1 to 16).map { n =>
          val family = n % familyCount
          val ask: Callable[Boolean] = () => {
            val model = if (n < 8) found(cold, family) else scanned(cold, family)
            model == modelOf(history, family)
          }
          ask
        }
        assert(pool.invokeAll(asks.asJava).asScala.forall(_.get))
      } finally pool.shutdown()
    }
  }
}
