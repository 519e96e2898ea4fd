package io.bucketstate.testkit

import java.util.concurrent.{Callable, Executors}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.bucketstate.record.{BucketAssigner, ColdState, KeyRange, RecordBuffer, RecordOp}
import io.bucketstate.testkit.TidySuite

/** What every `ColdState` guarantees, by the numbers of its contract. */
abstract class ColdStateContract(numBuckets: Int) extends TidySuite {
  private type Model = Map[String, String]

  private val assigner = new BucketAssigner(numBuckets)

  /**
   * The state that a history of changes to family 0 leads to; None removes a key. Version n is the state after n
   * changes.
   */
  def withCold(history: Seq[Map[String, Option[String]]])(body: ColdState => Unit): Unit

  private def random(seed: Int): Seq[Map[String, Option[String]]] = {
    val random = new Random(seed.toLong)
    Seq.fill(1 + random.nextInt(8)) {
      Seq
        .fill(1 + random.nextInt(40)) {
          s"key-${random.nextInt(60)}" ->
            Option.when(random.nextInt(3) > 0)("v" * random.nextInt(50))
        }
        .toMap
    }
  }

  private def modelOf(history: Seq[Map[String, Option[String]]]): Model =
    history.flatten.foldLeft(Map.empty: Model) {
      case (model, (key, Some(value))) => model.updated(key, value)
      case (model, (key, None))        => model.removed(key)
    }

  private def buffer(key: String): RecordBuffer = TextRecords.key(key, assigner)

  private def found(cold: ColdState, family: Int): Model =
    (0 until 60)
      .map(n => s"key-$n")
      .flatMap { key =>
        Option(cold.find(family, buffer(key))).map { record =>
          assert(buffer(key).sameKey(record))
          assert(cold.mayHold(family, buffer(key)), "7")
          key -> TextRecords.valueOf(record)
        }
      }
      .toMap

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
      def bound() = Option.when(picked.nextInt(3) > 0)(s"key-${picked.nextInt(60)}".getBytes).orNull
      withCold(history) { cold =>
        val model = modelOf(history)
        for {
          _ <- 1 to 20
          bucket <- 0 until numBuckets
        } {
          val keys = new KeyRange(bound(), bound())
          val wanted = model.filter { case (key, value) =>
            buffer(key).bucket == bucket &&
            keys.holds(TextRecords.record(key, value, assigner).toRecord)
          }
          val together = 1 + picked.nextInt(20)
          assert(ranged(cold, 0, bucket, keys, together) == wanted.toSeq.sorted)
          assert(ranged(cold, 7, bucket, keys, together).isEmpty)
        }
      }
    }

  for (seed <- 1 to 8)
    test(s"1 to 3 and 5: look-ups, scans and counts are of one state and stay so, seed $seed") {
      val history = random(seed)
      withCold(history) { cold =>
        val model = modelOf(history)
        assert(cold.version == history.size)
        for (_ <- 1 to 2) {
          assert(found(cold, 0) == model)
          assert(scanned(cold, 0) == model)
          assert(cold.keyCount(0) == Some(model.size))
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
      for (_ <- 1 to 2) {
        val taken = (0 until 300).count(n => cold.mayHold(0, buffer(s"never $n")))
        assert(taken < 150)
        (0 until 20).foreach(n => assert(cold.find(0, buffer(s"never $n")) == null))
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
          val ask: Callable[Model] = () => if (n % 2 == 0) found(cold, 0) else scanned(cold, 0)
          ask
        }
        assert(pool.invokeAll(asks.asJava).asScala.forall(_.get == modelOf(history)))
      } finally pool.shutdown()
    }
  }
}
